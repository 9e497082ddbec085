"""Which runs count: one choice for the ledger, the figures and the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ntkexp.claims.record import SCALES, Record

Carries = Callable[[Record], bool]


def of_recipe(records: Iterable[Record], recipe: str) -> list[Record]:
    """Runs of one recipe; those of a study have none and always count."""
    return [record for record in records if record.recipe in (recipe, None)]


def choose(records: Sequence[Record], carries: Carries = lambda _: True) -> list[Record]:
    """Of one experiment's runs those of one setting: of the best scale, then the most seeds, then
    the farthest. Of a seed and a swept value that were run twice the one that came farther.

    `carries`: only runs that come far enough for what is asked of them.
    """
    settings: dict[tuple[tuple[str, str], ...], list[Record]] = {}
    for record in records:
        if carries(record):
            settings.setdefault(record.setting, []).append(record)

    if not settings:
        return []
    best = min(settings.values(), key=_rank)
    return _each_once(best)


def _rank(members: Sequence[Record]) -> tuple[int, bool, int, int]:
    first = members[0]
    farthest = max(record.iteration for record in members)
    return SCALES.index(first.scale), first.recipe == "released", -len(members), -farthest


def choose_jointly(
    records: Mapping[str, Sequence[Record]], carries: Carries = lambda _: True
) -> list[Record]:
    """Runs of every experiment at the best scale that all of them have, on the same images; nothing
    without one."""
    for scale in SCALES:
        chosen = [
            choose([record for record in found if record.scale == scale], carries)
            for found in records.values()
        ]
        together = [record for members in chosen for record in members]
        if all(chosen) and _same_images(together):
            return together
    return []


def _each_once(members: Iterable[Record]) -> list[Record]:
    farthest: dict[tuple[int, str], Record] = {}
    for record in sorted(members, key=lambda one: one.iteration):
        farthest[record.seed, _swept(record)] = record
    return sorted(farthest.values(), key=lambda one: one.run)


def _swept(record: Record) -> str:
    try:
        return str(record.axis)
    except KeyError:
        return ""


def _same_images(records: Iterable[Record]) -> bool:
    seen: dict[str, str] = {}
    return all(
        seen.setdefault(file, checksum) == checksum
        for record in records
        for file, checksum in record.data.items()
    )
