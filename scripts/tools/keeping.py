"""Results kept in the repository: finished runs, copied without weights and made small.

A table is thinned only by a rule of `thinning.py`, and every copy says in `thinned.json` which
tables were, by what rule, and from how many rows to how many. Folders of the machine that made a
run are cut from what is copied, and its host's name is left out. A run that still goes on can be
kept as well: its committed rows, with the iteration they come to in `status.json` (`kept_at`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from ntkexp.config import FOLDER_NAME
from ntkexp.errors import UserError
from ntkexp.results.commits import StoredFile
from ntkexp.results.files import make_folder, read_checked, write_text
from ntkexp.results.folders import runs
from ntkexp.results.reading import (
    TableFile,
    committed_tables,
    finished,
    read_table,
    table_files,
)
from ntkexp.results.status import CARD, flat_config, read_card, read_status, status_text
from ntkexp.results.table import table_of
from ntkexp.scripts.tools.packing import write_packed
from ntkexp.scripts.tools.thinning import thinning

LIMIT_BYTES = 35_000_000
LEFT_OUT = "left out"
# `evals` has the loss at every look. Claims read `steps` of linearised networks alone, one update
# an epoch: `--tables` keeps them.
UNREAD = frozenset({"steps", "margins"})


def keep(
    places: Iterable[Path] | Path, reference: Path, tables: Iterable[str] | None = None
) -> Iterator[Path]:
    """Copy every finished run at or below `places` to `reference`/experiment/id.

    `tables`: these alone, or all but those that nothing reads; the copy says which were left out.
    """
    wanted = None if tables is None else set(tables)
    for folder in list(finished(places)):
        copy = _place(folder, reference)
        if folder.resolve() == copy.resolve():
            continue
        whole = {name: _whole(file) for name, file in table_files(folder).items()}
        if wanted is not None and (absent := wanted.difference(whole)):
            raise UserError(
                f"{folder}: has no table {', '.join(sorted(absent))}; it has {', '.join(whole)}"
            )
        make_folder(copy)
        left = UNREAD.intersection(whole) if wanted is None else set(whole).difference(wanted)
        _copy(folder, copy, whole, dict(read_status(folder) or {}), left)
        yield copy


def keep_begun(places: Iterable[Path] | Path, reference: Path) -> Iterator[Path]:
    """Copy what the runs at or below `places` that are not finished have committed.

    A copy of a finished run of the same id, or of a run that had come further, stays.
    """
    for folder in runs(places):
        status, copy = dict(read_status(folder) or {}), _place(folder, reference)
        if status.get("state") == "finished" or "kept_at" in status:
            continue
        whole = committed_tables(folder)
        reached, kept = last_iteration(whole), read_status(copy) or {}
        if not whole or kept.get("state") == "finished" or kept.get("kept_at", -1) >= reached:
            continue
        make_folder(copy)
        marked = {key: status[key] for key in ("schema", "time")}
        state = {"state": "interrupted", **marked, "kept_at": reached}
        _copy(folder, copy, whole, state, UNREAD.intersection(whole))
        yield copy


def _place(folder: Path, reference: Path) -> Path:
    name = str(flat_config(folder)["name"])
    if not FOLDER_NAME.holds(name):
        raise UserError(f"{folder}: its name is {name!r}; expected {FOLDER_NAME.accepted}")
    return reference / name / folder.name


def last_iteration(tables: Mapping[str, pa.Table]) -> int:
    """The last step that any of the tables has a row of."""
    steps = [table.column("step").to_numpy().max() for table in tables.values() if len(table)]
    return int(max(steps, default=0))


def size_bytes(reference: Path) -> int:
    return sum(file.stat().st_size for file in reference.rglob("*") if file.is_file())


def _whole(file: TableFile) -> pa.Table:
    read_table(file)  # as it was published, or refused
    return table_of(read_checked(file.path, None))


def _copy(
    folder: Path,
    copy: Path,
    tables: Mapping[str, pa.Table],
    status: Mapping[str, Any],
    left: Collection[str],
) -> None:
    rules, listed = {}, {}
    experiment = str(flat_config(folder)["name"])
    for name, whole in tables.items():
        if name in left:
            (copy / f"{name}.parquet").unlink(missing_ok=True)
            rules[name] = {"rule": LEFT_OUT, "rows": [whole.num_rows, 0]}
            continue
        rule = thinning(experiment, name)
        part = whole if rule is None else rule.apply(whole)
        write_packed(copy / f"{name}.parquet", part)
        listed[f"{name}.parquet"] = _facts(copy / f"{name}.parquet") | {"rows": part.num_rows}
        if rule is not None:
            rules[name] = {"rule": rule.rule, "rows": [whole.num_rows, part.num_rows]}
    if rules:
        write_text(copy / "thinned.json", json.dumps(rules, indent=1) + "\n")
    config = read_checked(folder / "config.yaml", None).decode()
    write_text(copy / "config.yaml", without_folders(config))
    listed["config.yaml"] = _facts(copy / "config.yaml")
    if (card := read_card(folder)) is not None:
        write_text(copy / CARD, card.text())
        listed[CARD] = _facts(copy / CARD)
    write_text(copy / "provenance.json", _provenance(folder))
    # Last, as in a run of its own: with it the copy is whole. Its tables and config are others.
    facts = {key: status[key] for key in status if key not in ("summary", "config")}
    write_text(copy / "status.json", status_text({**facts, "files": listed}))


def _facts(path: Path) -> dict[str, Any]:
    stored = StoredFile.of_bytes(read_checked(path, None), path.name)
    return {"bytes": stored.size_bytes, "sha256": stored.sha256}


def _provenance(folder: Path) -> str:
    lives = json.loads(read_checked(folder / "provenance.json", None))["lives"]
    for life in lives:
        life.pop("host", None)
    return json.dumps({"lives": [_cut(life) for life in lives]}, indent=1) + "\n"


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _cut(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_cut(inner) for inner in value]
    return without_folders(value) if isinstance(value, str) else value


def without_folders(text: str) -> str:
    """Absolute paths cut to their last part.

    >>> without_folders("paths.outputs=/home/me/outputs")
    'paths.outputs=outputs'
    """
    return re.sub(r"(?<![\w./])/(?:[^\s/\"']+/)*([^\s/\"']+)", r"\1", text)
