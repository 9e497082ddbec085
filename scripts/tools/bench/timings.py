"""Writes tables of timings; each says how it came about."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from ntkexp.report.sheets import read_table
from ntkexp.results.files import make_folder, replacing
from ntkexp.results.provenance import provenance
from ntkexp.scripts.tools.keeping import without_folders


def write_timings(
    rows: Sequence[Mapping[str, Any]],
    file: Path,
    about: str | None,
    where: str,
    by: str | None = None,
) -> None:
    """`about` is a script's docstring, its first line says what is timed; `where` on what.

    `by` names the column of cases: rows that the file has of other cases stay, so that a long
    benchmark can be run case by case. They must be of the same machine and torch.
    """
    facts = provenance()
    frame = pd.DataFrame(rows)
    attrs: dict[str, str] = {
        "about": (about or file.stem).splitlines()[0].rstrip("."),
        "command": without_folders(" ".join(["python", *sys.argv])),
        "machine": f"{facts['cpu']}, {facts['cpu_count']} cores, {where}",
        "torch": facts["versions"]["torch"],
        "commit": _commit(facts),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }
    if by is not None and file.exists():
        frame = _beside(read_table(file), frame, by, file, attrs)
    frame.attrs.update(attrs)
    make_folder(file.parent)
    with replacing(file) as temporary:
        frame.to_parquet(temporary)


def commit() -> str:
    """The commit of the running code, with `and changes` if it was changed; empty without one."""
    return _commit(provenance())


def _commit(facts: Mapping[str, Any]) -> str:
    code = facts["git"]
    return code["sha"][:7] + (" and changes" if "changes" in code else "") if code else ""


def _beside(
    old: pd.DataFrame, new: pd.DataFrame, by: str, file: Path, attrs: Mapping[str, str]
) -> pd.DataFrame:
    """The new rows, in the places of the old ones of the same cases, if there are any."""
    for fact in ("machine", "torch"):
        if old.attrs.get(fact) != attrs[fact]:
            raise SystemExit(
                f"{file}: its rows are of {old.attrs.get(fact)}, the new ones of {attrs[fact]}; "
                "give another --out"
            )
    cases = list(dict.fromkeys([*old[by], *new[by]]))
    replaced = set(new[by])
    frames = [new[new[by] == c] if c in replaced else old[old[by] == c] for c in cases]
    joined: pd.DataFrame = pd.concat(frames, ignore_index=True)
    return joined
