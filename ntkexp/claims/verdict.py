"""From a claim and the runs at hand to a verdict. Nothing here is written by hand."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from ntkexp.claims.claim import Case, Claim, Unit
from ntkexp.errors import DamagedRunError, printable
from ntkexp.results.record import SCALES, Record
from ntkexp.results.select import choose, choose_jointly, has_collapsed, of_recipe


class Verdict(StrEnum):
    """partly: it holds for some seeds or panels and not for all. not decidable: two readings of its
    sentence have other verdicts, or the runs' own control tells that they cannot decide it."""

    holds = "holds"
    fails = "fails"
    partly = "partly"
    not_decidable = "not decidable"
    no_runs = "no runs"


@dataclass(frozen=True)
class Finding:
    """A claim under one recipe, what was measured, and the runs it was measured on.

    `control`: what tells whether the cases decide. `collapsed`: runs of its experiments that were
    left out, since their training collapsed; `unmatched`: those that a joint claim left out, since
    others have none of their scale.
    """

    claim: Claim
    cases: tuple[Case, ...]
    records: tuple[Record, ...]  # those that gave the cases; none without a case
    recipe: str = "paper"
    also: tuple[Case, ...] = ()
    control: tuple[Case, ...] = ()
    collapsed: tuple[Record, ...] = ()
    unmatched: tuple[Record, ...] = ()

    @property
    def verdict(self) -> Verdict:
        if not self.cases:
            return Verdict.no_runs
        verdicts = {*self.by_reading.values()}
        return verdicts.pop() if len(verdicts) == 1 else Verdict.not_decidable

    @property
    def by_reading(self) -> dict[str, Verdict]:
        """The verdict by each reading of its sentence that has been run and decides; most have one
        reading, without a name."""
        kept: dict[str, list[bool]] = {}
        for case in self.decided:
            kept.setdefault(case.reading, []).append(case.value in self.claim.holds)
        return {
            reading: Verdict.holds if all(each) else Verdict.partly if any(each) else Verdict.fails
            for reading, each in kept.items()
        }

    @property
    def decided(self) -> tuple[Case, ...]:
        """The cases but for those of which the control tells that they cannot decide."""
        if not self.claim.control:
            return self.cases
        decides = self.claim.control.decides
        lost = {case._replace(value=0) for case in self.control if case.value not in decides}
        return tuple(
            case
            for case in self.cases
            if not lost & {case._replace(value=0), case._replace(value=0, panel="")}
        )

    @property
    def undecided(self) -> str:
        """What tells that the claim, or some of its cases, cannot be decided."""
        if self.verdict is Verdict.not_decidable and self.decided:
            return "; ".join(f"{name}: {verdict}" for name, verdict in self.by_reading.items())
        control = self.claim.control
        if not control or len(self.decided) == len(self.cases):
            return ""
        asked = control.decides.formatted(control.unit)
        told = _numbers(control.unit, _by_panel(self.control))
        return (
            f"{len(self.cases) - len(self.decided)} of {len(self.cases)} not decidable, "
            f"{control.number}: {told}; asked {asked}"
        )

    @property
    def kept(self) -> dict[tuple[str, int], bool]:
        """By panel and seed: True if the claim holds there."""
        holds = self.claim.holds
        return {(case.where, case.seed): case.value in holds for case in _once(self.decided)}

    @property
    def panels(self) -> dict[str, list[Case]]:
        return _by_panel(self.cases)

    @property
    def measured(self) -> str:
        """Mean and spread over seeds of every panel, with how many of them hold if not all do, and
        why they cannot be decided."""
        unit = self.claim.unit
        text = _numbers(unit, self.panels)
        kept = self.kept
        if self.verdict is Verdict.partly:
            text += f" ({sum(kept.values())} of {len(kept)} hold)"
        if self.undecided:
            text += f" ({self.undecided})"
        if self.cases and self.missing:
            text += f" (no runs of {', '.join(self.missing)})"
        if self.claim.also and self.also:
            text += f" [{self.claim.also[0]}: {_numbers(unit, _by_panel(self.also))}]"
        return text

    @property
    def seeds(self) -> int:
        return len({case.seed for case in self.cases})

    @property
    def scale(self) -> str:
        scales = {record.scale for record in self.records}
        return ", ".join(scale for scale in SCALES if scale in scales)

    @property
    def notes(self) -> tuple[str, ...]:
        notes = dict.fromkeys(note for record in self.records for note in record.notes)
        left = (f"{lost.experiment}/{lost.run}: left out, it lost again what it had learned"
                for lost in self.collapsed)  # fmt: skip
        return (*notes, *left, *map(self._unmatched, self.unmatched))

    def _unmatched(self, run: Record) -> str:
        experiments = {record.experiment for record in self.unmatched}
        if not self.records and not experiments.issuperset(self.claim.experiments):
            return f"{run.experiment}/{run.run}: waits for runs of {', '.join(self.missing)}"
        judged = f"is judged on those of scale {self.scale}" if self.records else (
            "finds no scale of which all its experiments have runs on the same images"
        )  # fmt: skip
        typed = f" ({' '.join(run.altered)})" if run.altered else ""
        return (
            f"{run.experiment}/{run.run}: left out, its scale is {run.scale}{typed}; "
            f"{self.claim.id} {judged}"
        )

    @property
    def missing(self) -> tuple[str, ...]:
        """The experiments that lack runs: those that have none, or all of them where each has runs
        but none match."""
        experiments = {record.experiment for record in self.records or self.unmatched}
        lacking = tuple(name for name in self.claim.experiments if name not in experiments)
        return lacking if lacking or self.records else self.claim.experiments

    @property
    def covered(self) -> str:
        """`2 of 3 experiments`, where some of the claim's experiments have no runs; else empty."""
        total, lacking = len(self.claim.experiments), len(self.missing)
        return f"{total - lacking} of {total} experiments" if self.cases and lacking else ""


def _by_panel(cases: Iterable[Case]) -> dict[str, list[Case]]:
    panels: dict[str, list[Case]] = {}
    for case in _once(cases):
        panels.setdefault(case.where, []).append(case)
    return panels


def _once(cases: Iterable[Case]) -> list[Case]:
    """The cases, those of panels that are the same by every reading once and without one."""
    every = [*cases]
    readings = [*dict.fromkeys(case.reading for case in every)]
    found: dict[tuple[str, str], list[str]] = {}
    for case in every:
        number = f"{case.seed}: {case.value:.6g}"
        found.setdefault((case.panel, case.reading), []).append(number)

    def same(panel: str) -> bool:
        first, *others = (found.get((panel, reading)) for reading in readings)
        return all(other == first for other in others)

    return [
        case._replace(reading="") if same(case.panel) else case
        for case in every
        if case.reading == readings[0] or not same(case.panel)
    ]


def _numbers(unit: Unit, panels: Mapping[str, Sequence[Case]]) -> str:
    summaries = {
        panel: unit.formatted(*mean_and_spread([case.value for case in cases]))
        for panel, cases in panels.items()
    }
    return "; ".join(f"{panel}: {text}" if panel else text for panel, text in summaries.items())


def mean_and_spread(values: Sequence[float]) -> tuple[float, float | None]:
    """Mean and standard deviation; no deviation of values that are all the same."""
    if len(set(values)) == 1:
        return values[0], None
    if not all(map(math.isfinite, values)):
        return math.nan, None
    return statistics.fmean(values), statistics.stdev(values)


def judge(claim: Claim, records: Iterable[Record], recipe: str | None = None) -> Finding:
    """The verdict on a claim by the runs that can carry it, made by the claim's first recipe or by
    `recipe`."""
    if claim.readings:
        return _by_each_reading(claim, claim.readings, list(records), recipe)
    whose = recipe or claim.recipes[0]
    fitting: dict[str, list[Record]] = {name: [] for name in claim.experiments}
    of_claim = [record for record in records if record.experiment in fitting]
    for record in of_recipe(of_claim, whose):
        if record.one_of_its_experiment and _complete(record.tables, claim.tables):
            fitting[record.experiment].append(record)
    if claim.jointly:
        sets: dict[str, dict[str, list[Record]]] = {}
        for name, runs in fitting.items():
            word = claim.jointly(name) if callable(claim.jointly) else ""
            sets.setdefault(word, {})[name] = runs
        chosen = [run for one in sets.values() for run in choose_jointly(one, claim.horizon)]
    else:
        sides = [
            [run for run in runs if bool(claim.apart and claim.apart(run)) is side]
            for runs in fitting.values()
            for side in (False, True)
        ]
        chosen = [run for runs in sides for run in choose(runs, claim.horizon)]
    # Not a number: this run cannot tell, for it is too small to have what the statistic looks at.
    cases = _numeric(claim.statistic(chosen))
    also = _numeric(claim.also[1](chosen)) if claim.also and cases else ()
    control = _numeric(claim.control.statistic(chosen)) if claim.control and cases else ()
    lost = tuple(run for runs in fitting.values() for run in runs if has_collapsed(run))
    scales = {run.scale for run in chosen}
    unmatched = tuple(
        run
        for runs in fitting.values()
        for run in runs
        if claim.jointly and run.scale not in scales and run not in lost and claim.horizon(run)
    )
    used = tuple(chosen) if cases else ()
    waiting = unmatched if cases or not chosen else ()
    return Finding(claim, cases, used, whose, also, control, lost, waiting)


def _numeric(cases: Iterable[Case]) -> tuple[Case, ...]:
    return tuple(case for case in cases if not math.isnan(case.value))


def _by_each_reading(
    claim: Claim, readings: Mapping[str, str], records: Sequence[Record], recipe: str | None
) -> Finding:
    """The findings by each reading, on its own experiments and those that serve all, as one."""
    found = {}
    for reading in dict.fromkeys(readings.values()):
        own = [name for name in claim.experiments if readings.get(name, reading) == reading]
        found[reading] = judge(replace(claim, experiments=(*own,), readings=None), records, recipe)
    first = next(iter(found.values()))
    decided = {
        reading: finding
        for reading, finding in found.items()
        if any(run.experiment in readings for run in finding.records)
    } or {"": first}

    def cases(of: str) -> tuple[Case, ...]:
        return tuple(
            case._replace(reading=", ".join(filter(None, (reading, case.reading))))
            for reading, finding in decided.items()
            for case in getattr(finding, of)
        )

    def runs(of: str, findings: Iterable[Finding] = found.values()) -> tuple[Record, ...]:
        every = [run for finding in findings for run in getattr(finding, of)]
        return tuple({run.folder or run.run: run for run in every}.values())

    return Finding(
        claim, cases("cases"), runs("records", decided.values()), first.recipe, cases("also"),
        cases("control"), runs("collapsed"), runs("unmatched"),
    )  # fmt: skip


def judge_all(claims: Iterable[Claim], records: Sequence[Record]) -> list[Finding]:
    """Every claim under each of its recipes. A run with a table that cannot be read is left out."""
    chosen = list(claims)
    while True:
        try:
            return [judge(claim, records, recipe) for claim in chosen for recipe in claim.recipes]
        except DamagedRunError as error:
            print(printable(f"skipped: {error}"), file=sys.stderr)
            whole = [record for record in records if record.folder != error.path.parent]
            if len(whole) == len(records):
                raise
            records = whole


def _complete(tables: Mapping[str, object], needed: Iterable[str]) -> bool:
    return all(name in tables for name in needed)
