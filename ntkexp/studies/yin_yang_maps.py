"""Figure 5.1 of George's thesis from its runs: where the two regimes differ at equal progress.

ntkexp study +exp=lazy/yin_yang_maps --with-parents

At each level of the training loss, the difference at every point of the square (5.3.1)

    loss f_non-linear(x) - loss f_linear(x),

mean over the pairs of runs of one seed that both came below the level.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from ntkexp.references import FromRun
from ntkexp.results.table import Column, Table, float64, int64, string
from ntkexp.studies.base import Found, Study

LEVEL: dict[str, Column] = {"level": float64("of the training loss")}
REGIME: dict[str, Column] = {"regime": string("`non_linear` or `linear`")}
SEED: dict[str, Column] = {"seed": int64("of the run")}
MAPS = Table(
    "yin_yang_maps",
    "test loss of the non-linear less that of the linear network at a point of the square, mean "
    "over the seeds of which both came below the level",
    LEVEL
    | {
        "x": float64("first coordinate"),
        "y": float64("second coordinate"),
        "difference": float64("(5.3.1) of George's thesis, mean over seeds"),
        "standard_error": float64("of that mean"),
        "runs": int64("seeds of which both came below the level"),
    },
)
AREAS = Table(
    "yin_yang_areas",
    "mean test loss in an area of the square, of both networks of a seed",
    LEVEL
    | SEED
    | {
        "area": string("`all`, `discs`, `between` them and the boundary, or `open`"),
        "non_linear": float64("mean test loss"),
        "linear": float64("mean test loss"),
    },
)
REACHED = Table(
    "yin_yang_reached",
    "the step at which the training loss of a run was first seen below a level; runs that did not "
    "come below it have no row",
    REGIME | LEVEL | SEED | {"step": int64("updates done")},
)
PROGRESS = Table(
    "yin_yang_progress",
    "training losses of all runs of a regime at a step; a run that has ended keeps its last one",
    REGIME
    | {
        "step": int64("updates done"),
        "low": float64("10th centile over runs"),
        "median": float64("over runs"),
        "high": float64("90th centile over runs"),
    },
)


@dataclass
class RunOfMembers:
    """The tables of one regime's run, an ensemble over seeds."""

    snapshot: FromRun = field(default_factory=partial(FromRun, file="snapshot.parquet"))
    events: FromRun = field(default_factory=partial(FromRun, file="events.parquet"))
    steps: FromRun = field(default_factory=partial(FromRun, file="steps.parquet"))


@dataclass
class YinYangMaps(Study):
    """Both runs look at the same lattice, and a seed has the same data and network in both."""

    tables: ClassVar = (MAPS, AREAS, REACHED, PROGRESS)

    non_linear: RunOfMembers = field(default_factory=RunOfMembers)
    linear: RunOfMembers = field(default_factory=RunOfMembers)

    def compute(self) -> Found:
        from ntkexp.studies.computations.yin_yang_maps import frames

        return frames(self)
