"""What an unfinished run has committed: the rows of its commits, and no others."""

from __future__ import annotations

from pathlib import Path
from pickle import UnpicklingError

import pyarrow as pa

from ntkexp.errors import UserError
from ntkexp.results.commits.chain import read_chain
from ntkexp.results.commits.parquet import table_of
from ntkexp.results.status import OLD_LAYOUT, UNFINISHED


def committed_tables(folder: Path) -> dict[str, pa.Table]:
    """The tables of a begun run up to its last commit; none before the first."""
    parts, checkpoint = (folder / name for name in OLD_LAYOUT)
    if checkpoint.is_file():
        return _of_version_1(parts, checkpoint)
    committed = folder / UNFINISHED / "committed"
    found: dict[str, list[pa.Table]] = {}
    for commit in read_chain(committed):
        for part in commit.parts:
            table = table_of(part.read(committed))
            found.setdefault(str(part.table), []).append(table)
    return {name: pa.concat_tables(tables) for name, tables in found.items()}


def _of_version_1(parts: Path, checkpoint: Path) -> dict[str, pa.Table]:
    """In version 0.1 the checkpoint counts the commits; rows of parts beyond that number do not
    count."""
    last = commits(checkpoint)
    found: dict[str, list[pa.Table]] = {}
    for part in sorted(parts.glob("*.parquet")):
        table, number = part.name.split(".")[:2]
        if int(number) <= last:
            found.setdefault(table, []).append(table_of(part.read_bytes()))
    return {name: pa.concat_tables(tables) for name, tables in found.items()}


def commits(checkpoint: Path) -> int:
    """How many commits a checkpoint of version 0.1 counts."""
    # Two seconds to import, and only here is it needed to read results.
    import torch

    try:
        state = torch.load(checkpoint, map_location="cpu", weights_only=True, mmap=True)
        return int(state["commits"])
    except (OSError, RuntimeError, KeyError, ValueError, UnpicklingError) as error:
        reason = str(error).partition("\n")[0]
        raise UserError(f"{checkpoint}: no checkpoint that can be read ({reason})") from error


def last_iteration(tables: dict[str, pa.Table]) -> int:
    """The last step that any of the tables tells of."""
    steps = [table.column("step").to_numpy().max() for table in tables.values() if len(table)]
    return int(max(steps, default=0))
