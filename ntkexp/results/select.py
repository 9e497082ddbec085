"""Which runs count: the ledger's choice, and that of figures among one's own runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from os.path import commonpath
from pathlib import Path
from typing import Any

from ntkexp.results.numbers import evals
from ntkexp.results.reading import StoredTables
from ntkexp.results.record import SCALES, Record

Counts = Callable[[Record], bool]
REFERENCE_RESULTS = "the reference results"
# Experiments whose runs a line names one by one.
FEW = 3
# Most of what is said of a curve along training is decided by then; a run that came less far is
# shown only where there is no other.
FAR_ENOUGH = 3000


def of_recipe(records: Iterable[Record], recipe: str) -> list[Record]:
    """Runs of one recipe; those of a study have none and always count."""
    return [record for record in records if record.recipe in (recipe, None)]


def choose(records: Sequence[Record], counts: Counts = lambda _: True) -> list[Record]:
    """The runs of one setting among those of one experiment.

    It is the setting of the best scale, then with the most training images, then with the most
    seeds, then with the run that came furthest. Of two runs of one seed and swept value the one
    counts that came further.

    Args:
        records: the runs of one experiment.
        counts: tells whether a run came far enough for what is asked of it. A run whose training
            collapsed never counts: it says nothing of networks that learn.
    """
    return _best(record for record in records if counts(record) and not has_collapsed(record))


def _best(records: Iterable[Record]) -> list[Record]:
    settings: dict[tuple[tuple[str, str], ...], list[Record]] = {}
    for record in records:
        settings.setdefault(record.setting, []).append(record)
    if not settings:
        return []
    best = min(settings.values(), key=_rank)
    return _each_once(best)


def _rank(members: Sequence[Record]) -> tuple[int, bool, float, int, int]:
    first = members[0]
    images = first.config.get("data.train_examples") or inf  # null: all there are
    farthest = max(record.iteration for record in members)
    released = first.recipe == "released"
    return SCALES.index(first.scale), released, -images, -len(members), -farthest


def runs_to_show(records: Sequence[Record]) -> list[Record]:
    """The runs that a figure and the report show, among those of one experiment by one recipe.

    They are chosen as the ledger chooses, among runs that came far enough. Where there is no other,
    a run counts whose training collapsed.
    """
    return choose(records, came_far_enough) or choose(records) or _best(records)


def newest(records: Iterable[Record], values: int = 1) -> list[Record]:
    """The run that ended last, with those that differ from it in nothing but their seed and what
    their experiment sweeps; a sweep of fewer `values` does not count."""
    alike: dict[tuple[tuple[str, str], ...], list[Record]] = {}
    for record in records:
        alike.setdefault(record.options, []).append(record)
    groups = [
        group
        for group in alike.values()
        if not group[0].axes or len({record.swept for record in group}) >= values
    ]
    return _each_once(max(groups, key=lambda group: max(r.ended for r in group), default=[]))


def has_rows(records: Iterable[Record], tables: Iterable[str]) -> list[Record]:
    needed = list(tables)
    return [record for record in records if all(_rows(record, name) for name in needed)]


def _rows(record: Record, name: str) -> int:
    if name not in record.tables:
        return 0
    if isinstance(record.tables, StoredTables) and (rows := record.tables.rows(name)) is not None:
        return rows
    return len(record.tables[name])


def whose(records: Iterable[Record], reference: Path) -> str:
    """Where runs come from, such as `outputs/disk/c57568321b89 and the reference results`."""
    own: dict[str, list[Path]] = {}
    kept = 0
    for record in {record.folder: record for record in records}.values():
        if record.lies_in(reference):
            kept += 1
        elif record.folder:
            own.setdefault(record.experiment, []).append(record.folder)
    words = [
        str(first) if not others else f"{first.parent} ({1 + len(others)} runs)"
        for first, *others in own.values()
    ]
    if len(own) > FEW:
        folders = [folder for of_one in own.values() for folder in of_one]
        words = [f"{commonpath(folders)} ({len(folders)} runs of {len(own)} experiments)"]
    return " and ".join([", ".join(words)] * bool(own) + [REFERENCE_RESULTS] * bool(kept))


def came_far_enough(record: Record) -> bool:
    """True if a run came to its experiment's end, or far enough for most of what is said."""
    return reached_its_end(record) or record.iteration >= FAR_ENOUGH


def reached_its_end(record: Record) -> bool:
    """True if a run came to the end that its experiment sets, and no command set another."""
    return record.finished and (not record.horizon_typed or has_fitted(record))


def has_fitted(record: Record) -> bool:
    """True if its training accuracy came to 100 %."""
    if record.summary is not None:
        return (record.summary.best or 0) >= evals.FITTED
    return "evals" in record.tables and evals.has_fitted(record.tables["evals"])


def has_collapsed(record: Record) -> bool:
    """True if its networks lost again what they had learned."""
    if record.summary is not None:
        return (record.summary.lost or 0) >= evals.LOST
    return "evals" in record.tables and evals.has_collapsed(record.tables["evals"])


def choose_jointly(
    records: Mapping[str, Sequence[Record]], counts: Counts = lambda _: True
) -> list[Record]:
    """The runs of every experiment at the best scale that all of them have, on the same images,
    standardised alike; none where there is no such scale."""
    for scale in SCALES:
        chosen = [
            choose([record for record in of_one if record.scale == scale], counts)
            for of_one in records.values()
        ]
        together = [record for members in chosen for record in members]
        if all(chosen) and _same_inputs(together):
            return together
    return []


def _each_once(members: Iterable[Record]) -> list[Record]:
    farthest: dict[tuple[int, tuple[Any, ...]], Record] = {}
    for record in sorted(members, key=lambda record: record.iteration):
        farthest[record.seed, record.swept] = record
    return sorted(farthest.values(), key=lambda record: record.run)


def _same_inputs(records: Sequence[Record]) -> bool:
    configs = [run.config for run in records if "data.name" in run.config]  # a study has none
    divided = {config.get("data.standardise", "published") for config in configs}
    checksums: dict[str, str] = {}
    return len(divided) <= 1 and all(
        checksums.setdefault(file, checksum) == checksum
        for record in records
        for file, checksum in record.checksums.items()
    )
