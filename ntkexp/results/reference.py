"""Results kept in the repository: finished runs, copied without weights and made small.

A table is thinned only by a rule that stands here, and every copy says in `thinned.json` which
tables were, by what rule, and from how many rows to how many. Folders of the machine that made a
run are cut from what is copied, and its host's name is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ntkexp.results.atomic import make_folder, replacing, write_text
from ntkexp.results.reading import finished, flat_config
from ntkexp.results.status import read_status

# What Figure 1 shows, and two more while the classes appear.
SHOWN_ITERATIONS = (0, 20, 100, 300, 650, 1000, 2000)
GROWTH = 1.02
LIMIT_BYTES = 25_000_000


@dataclass(frozen=True)
class Thinning:
    """Which steps of a table stay."""

    rule: str
    kept: Callable[[np.ndarray], np.ndarray]


def _nearest(steps: np.ndarray) -> np.ndarray:
    return np.array(
        sorted({int(steps[np.abs(steps - wanted).argmin()]) for wanted in SHOWN_ITERATIONS})
    )


def _log_spaced(steps: np.ndarray) -> np.ndarray:
    """The first, the last, and between them those at which the step number has grown by 2 %."""
    places = np.geomspace(1, len(steps), 1 + int(np.log(len(steps)) / np.log(GROWTH)))
    return np.array(steps[np.unique(places.round().astype(int)) - 1])


SHOWN = Thinning(f"the steps nearest to {', '.join(map(str, SHOWN_ITERATIONS))}", _nearest)
LOG_SPACED = Thinning("steps log-spaced by 2 %, the first and the last", _log_spaced)

# By experiment, then table; no other table loses a row.
THINNED: tuple[tuple[str, str, Thinning], ...] = (
    ("disk", "eigenfunctions", SHOWN),
    ("complexity_", "complexity", LOG_SPACED),
    ("complexity_", "steps", LOG_SPACED),
)


def keep(runs: Iterable[Path] | Path, reference: Path) -> Iterator[Path]:
    """Copy every finished run at or below `runs` to `reference`/experiment/id."""
    for folder in list(finished(runs)):
        copy = reference / str(flat_config(folder)["name"]) / folder.name
        if folder.resolve() == copy.resolve():
            continue
        make_folder(copy)
        _copy(folder, copy)
        yield copy


def size_bytes(reference: Path) -> int:
    return sum(file.stat().st_size for file in reference.rglob("*") if file.is_file())


def _copy(folder: Path, copy: Path) -> None:
    told = {}
    for file in sorted(folder.glob("*.parquet")):
        thinning = _thinning(copy.parent.name, file.stem)
        if thinning is None:
            _write(copy / file.name, pq.read_table(file))
            continue
        whole = pq.read_table(file)
        part = _thinned(whole, thinning)
        _write(copy / file.name, part)
        told[file.stem] = {"rule": thinning.rule, "rows": [whole.num_rows, part.num_rows]}
    if told:
        write_text(copy / "thinned.json", json.dumps(told, indent=1) + "\n")
    config = (folder / "config.yaml").read_text(encoding="utf-8")
    write_text(copy / "config.yaml", without_folders(config))
    write_text(copy / "provenance.json", _provenance(folder))
    # Last, as in a run of its own: with it the copy is whole.
    write_text(copy / "status.json", json.dumps(read_status(folder), indent=1) + "\n")


def _thinning(experiment: str, table: str) -> Thinning | None:
    return next(
        (rule for prefix, name, rule in THINNED if experiment.startswith(prefix) and name == table),
        None,
    )


def _thinned(table: pa.Table, thinning: Thinning) -> pa.Table:
    steps = table.column("step").to_numpy()
    return table.filter(np.isin(steps, thinning.kept(np.unique(steps))))


def _write(path: Path, table: pa.Table) -> None:
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", compression_level=19)


def _provenance(folder: Path) -> str:
    lives = json.loads((folder / "provenance.json").read_text(encoding="utf-8"))["lives"]
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
