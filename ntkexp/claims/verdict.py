"""From a claim and the runs at hand to a verdict. Nothing here is written by hand."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ntkexp.claims.claim import Case, Claim
from ntkexp.errors import DamagedRunError, printable
from ntkexp.results.record import SCALES, Record
from ntkexp.results.select import choose, choose_jointly, has_collapsed, of_recipe


class Verdict(StrEnum):
    """partly: it holds for some seeds or panels and not for all."""

    holds = "holds"
    fails = "fails"
    partly = "partly"
    no_runs = "no runs"


@dataclass(frozen=True)
class Finding:
    """A claim under one recipe, what was measured, and the runs it was measured on.

    `collapsed`: runs of its experiments that were left out, since their training collapsed;
    `unmatched`: those that a joint claim left out, since others have none of their scale.
    """

    claim: Claim
    cases: tuple[Case, ...]
    records: tuple[Record, ...]  # those that gave the cases; none without a case
    recipe: str = "paper"
    also: tuple[Case, ...] = ()
    collapsed: tuple[Record, ...] = ()
    unmatched: tuple[Record, ...] = ()

    @property
    def verdict(self) -> Verdict:
        kept = self.kept
        if not kept:
            return Verdict.no_runs
        if all(kept.values()):
            return Verdict.holds
        return Verdict.partly if any(kept.values()) else Verdict.fails

    @property
    def kept(self) -> dict[tuple[str, int], bool]:
        """By panel and seed: True if the claim holds there."""
        holds = self.claim.holds
        return {(case.panel, case.seed): case.value in holds for case in self.cases}

    @property
    def panels(self) -> dict[str, list[Case]]:
        return _by_panel(self.cases)

    @property
    def measured(self) -> str:
        """Mean and spread over seeds of every panel, with how many of them hold if not all do."""
        text = self._numbers(self.panels)
        kept = self.kept
        if self.verdict is Verdict.partly:
            text += f" ({sum(kept.values())} of {len(kept)} hold)"
        if self.cases and self.missing:
            text += f" (no runs of {', '.join(self.missing)})"
        if self.claim.also and self.also:
            text += f" [{self.claim.also[0]}: {self._numbers(_by_panel(self.also))}]"
        return text

    def _numbers(self, panels: Mapping[str, Sequence[Case]]) -> str:
        return "; ".join(
            f"{panel}: {self._summary(cases)}" if panel else self._summary(cases)
            for panel, cases in panels.items()
        )

    def _summary(self, cases: Sequence[Case]) -> str:
        return self.claim.unit.formatted(*mean_and_spread([case.value for case in cases]))

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
    for case in cases:
        panels.setdefault(case.panel, []).append(case)
    return panels


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
    whose = recipe or claim.recipes[0]
    fitting: dict[str, list[Record]] = {name: [] for name in claim.experiments}
    of_claim = [record for record in records if record.experiment in fitting]
    for record in of_recipe(of_claim, whose):
        if record.one_of_its_experiment and _complete(record.tables, claim.tables):
            fitting[record.experiment].append(record)
    if claim.jointly:
        chosen = choose_jointly(fitting, claim.horizon)
    else:
        sides = [
            [run for run in runs if bool(claim.apart and claim.apart(run)) is side]
            for runs in fitting.values()
            for side in (False, True)
        ]
        chosen = [run for runs in sides for run in choose(runs, claim.horizon)]
    # Not a number: this run cannot tell, for it is too small to have what the statistic looks at.
    cases = tuple(case for case in claim.statistic(chosen) if not math.isnan(case.value))
    beside = claim.also[1](chosen) if claim.also and cases else ()
    also = tuple(case for case in beside if not math.isnan(case.value))
    lost = tuple(run for runs in fitting.values() for run in runs if has_collapsed(run))
    scales = {run.scale for run in chosen}
    unmatched = tuple(
        run
        for runs in fitting.values()
        for run in runs
        if claim.jointly and run.scale not in scales and run not in lost and claim.horizon(run)
    )
    used = tuple(chosen) if cases else ()
    return Finding(claim, cases, used, whose, also, lost, unmatched if cases or not chosen else ())


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
