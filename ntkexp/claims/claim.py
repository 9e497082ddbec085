"""An entry of the ledger: a statement, the number that decides it, and the interval to meet."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from ntkexp.claims.horizon import OWN_END, Horizon
from ntkexp.results.record import Record


class Case(NamedTuple):
    """One measured number: of a panel (the noise level, the architecture) and of a seed; of a
    sentence that is read in several ways, by one of them."""

    panel: str
    seed: int
    value: float
    reading: str = ""

    @property
    def where(self) -> str:
        return ", ".join(filter(None, (self.reading, self.panel)))


Statistic = Callable[[Sequence[Record]], Iterable[Case]]


@dataclass(frozen=True)
class Unit:
    """The unit in which a value is written.

    >>> percent.formatted(0.0132, 0.001)
    '1.32 ± 0.1 %'
    """

    factor: float
    sign: str

    def formatted(self, value: float, spread: float | None = None) -> str:
        if spread is None:
            return f"{self.number(value)}{self.sign}"
        # A mean of 1e-17 among values of one: what rounding leaves of zero.
        mean = 0.0 if abs(value) < 1e-12 * spread else value
        return f"{self.number(mean)} ± {self.number(spread, 2)}{self.sign}"

    def number(self, value: float, digits: int = 3) -> str:
        scaled = self.factor * value
        return f"{scaled:,.0f}" if 1000 <= abs(scaled) < math.inf else f"{scaled:.{digits}g}"


plain, percent, times = Unit(1, ""), Unit(100, " %"), Unit(1, " ×")


@dataclass(frozen=True)
class Interval:
    """The values with which a claim holds, bounds included; nan lies in no interval."""

    low: float = -math.inf
    high: float = math.inf

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def formatted(self, unit: Unit) -> str:
        if self.low == self.high:
            return unit.formatted(self.low)
        if math.isinf(self.high):
            return f"≥ {unit.formatted(self.low)}"
        if math.isinf(self.low):
            return f"≤ {unit.formatted(self.high)}"
        return f"{unit.number(self.low)} to {unit.formatted(self.high)}"


def above(bound: float) -> Interval:
    return Interval(low=bound)


def below(bound: float) -> Interval:
    return Interval(high=bound)


def between(low: float, high: float) -> Interval:
    return Interval(low, high)


def within_factor(value: float, factor: float) -> Interval:
    return Interval(value / factor, value * factor)


@dataclass(frozen=True)
class Control:
    """A number of the runs that tells whether they can decide a claim, such as the updates that it
    would need: they can where it lies in `decides`. A case without panel is for all of its seed."""

    number: str
    statistic: Statistic
    decides: Interval
    unit: Unit = plain


# With fewer networks in a sweep their order says nothing.
FEWEST = 3

Recipe = Literal["paper", "released"]
Chosen = Literal["before", "pilot", "after"]
PAPER_AND_RELEASED: tuple[Recipe, ...] = ("paper", "released")


class Section(StrEnum):
    """Only the first asks whether the paper reproduces.

    paper: a statement of its text. notebooks: a curve of its authors' notebooks, which their code
    made. identity: holds by construction or by proof, so it can hardly fail. ours: a question of
    ours, which the paper does not answer.
    """

    paper = "The paper's statements"
    notebooks = "The notebooks' curves"
    identity = "Identities"
    ours = "Our own questions"


# Where an interval comes from, unless a claim says otherwise.
SIGN = "the sign of the text's word"


@dataclass(frozen=True)
class Claim:
    """One statement of the paper, one curve of its authors' notebooks, or one identity.

    `statistic` gives `number` for every panel and seed; the claim holds for those whose value lies
    in `holds`, and `threshold` says where that interval comes from. `seen`: what of number and
    interval was chosen or changed when results had been seen, to be read after "when"; `pilot`:
    these were a pilot's alone. `control` and `readings`, by experiment: what may show that the
    claim is not decidable (verdict.py); experiments without a reading serve all. `also`: a second
    number, told beside it, that decides nothing. `horizon`: how far a run must have come to be
    evidence. `recipes`: with whose training the claim is judged, each on its own. A claim that sets
    experiments side by side is judged `jointly`: only on runs of one scale, and of all of them, or
    of all that it, a function of their names, has the same word for. `apart`: runs of which it is
    true and those of which it is not are judged side by side, the best of each. `work`: the paper
    that says it, filled in by the ledger.
    """

    id: str
    figure: str | None
    says: str
    paper: str
    number: str
    experiments: tuple[str, ...]
    tables: tuple[str, ...]
    statistic: Statistic
    holds: Interval
    horizon: Horizon = OWN_END
    threshold: str = SIGN
    seen: str = ""
    pilot: bool = False
    control: Control | None = None
    readings: Mapping[str, str] | None = None
    unit: Unit = plain
    section: Section = Section.paper
    recipes: tuple[Recipe, ...] = ("paper",)
    also: tuple[str, Statistic] | None = None
    jointly: bool | Callable[[str], str] = False
    apart: Callable[[Record], bool] | None = None
    work: str = ""

    @property
    def chosen(self) -> Chosen:
        """When number and interval were fixed: before results, after a pilot's, or after them."""
        return "before" if not self.seen else "pilot" if self.pilot else "after"

    @property
    def origin(self) -> str:
        """The source of the interval, and what was chosen when results had been seen."""
        whose = "a pilot's results" if self.pilot else "results"
        words = f"; {whose} had been seen when {self.seen}" if self.seen else ""
        return f"{self.threshold}{words}"


def sharing(prefix: str, **shared: Any) -> Callable[..., Claim]:
    """Makes claims that have most of their fields in common, as those of one figure do.

    `prefix` begins the id of each; what a claim gives itself stands over what is shared.

    claim = sharing("fig02-", figure="2", tables=("spectrum",), horizon=iteration(3000))
    claim("t40", says="The 40 largest of 1000 eigenvalues come to hold ...", paper="> 70 %", ...)
    """

    def claim(name: str, **fields: Any) -> Claim:
        return Claim(id=prefix + name, **(shared | fields))

    return claim
