"""Figure 5.1 of George's thesis from its runs: where the two regimes differ at equal progress.

ntkexp study +exp=lazy/yin_yang_maps --with-parents

At each level of the training loss, the difference at every point of the square (5.3.1)

    loss f_non-linear(x) - loss f_linear(x),

mean over the pairs of runs of one seed that both came below the level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pandas as pd
import torch

from ntkexp.data.disk import lattice
from ntkexp.data.yin_yang import groups
from ntkexp.errors import UserError
from ntkexp.options import option
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

CENTILES = {"low": 0.1, "median": 0.5, "high": 0.9}
# Steps of the progress curves, evenly on a log axis.
CURVE_STEPS = 200


@dataclass
class RunOfMembers:
    """The tables of one regime's run, an ensemble over seeds."""

    snapshot: FromRun = option(FromRun(file="snapshot.parquet"), about="outputs at passed losses")
    events: FromRun = option(FromRun(file="events.parquet"), about="steps where losses were passed")
    steps: FromRun = option(FromRun(file="steps.parquet"), about="losses along training")


@dataclass
class YinYangMaps(Study):
    """Both runs look at the same lattice, and a seed has the same data and network in both."""

    tables: ClassVar = (MAPS, AREAS, REACHED, PROGRESS)

    non_linear: RunOfMembers = field(default_factory=RunOfMembers)
    linear: RunOfMembers = field(default_factory=RunOfMembers)

    def compute(self) -> Found:
        regimes = {"non_linear": self.non_linear, "linear": self.linear}
        losses = {name: at_levels(run) for name, run in regimes.items()}
        maps, areas = zip(*(compared(level, losses) for level in levels_of(losses)), strict=True)
        return {
            "yin_yang_maps": pd.concat(maps),
            "yin_yang_areas": pd.concat(areas),
            "yin_yang_reached": pd.concat(
                [reached(run).assign(regime=name) for name, run in regimes.items()]
            ),
            "yin_yang_progress": pd.concat(
                [progress(run.steps.table()).assign(regime=name) for name, run in regimes.items()]
            ),
        }


def reached(run: RunOfMembers) -> pd.DataFrame:
    """Columns seed, level and step: when each run first was below each level."""
    events = run.events.table("seed", "event", "threshold", "step")
    chosen = events[events["event"] == "train_loss"].rename(columns={"threshold": "level"})
    return chosen[["seed", "level", "step"]].sort_values(["level", "seed"])


def at_levels(run: RunOfMembers) -> dict[float, pd.DataFrame]:
    """Level -> test losses (seeds, points) at the step where a run came below it."""
    crossed, snapshot = reached(run), run.snapshot.table("seed", "step", "example", "loss")
    losses = {}
    for level, rows in crossed.groupby("level"):
        looks = rows.merge(snapshot, on=["seed", "step"])
        losses[float(str(level))] = looks.pivot(index="seed", columns="example", values="loss")
    return losses


def levels_of(losses: dict[str, dict[float, pd.DataFrame]]) -> list[float]:
    """Levels that both runs of a seed came below, falling."""
    ours, theirs = losses.values()
    common = [
        level
        for level in ours.keys() & theirs.keys()
        if len(ours[level].index.intersection(theirs[level].index))
    ]
    if not common:
        raise UserError("study=yin_yang_maps: no training loss that both runs of a seed reached")
    return sorted(common, reverse=True)


def compared(
    level: float, losses: dict[str, dict[float, pd.DataFrame]]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The map of the differences, and the areas' mean losses, of the seeds that both have."""
    ours, theirs = losses["non_linear"][level], losses["linear"][level]
    seeds = ours.index.intersection(theirs.index)
    first, second = (frame.loc[seeds].to_numpy(dtype=np.float64) for frame in (ours, theirs))
    points = lattice(math.isqrt(first.shape[1]))
    difference, runs = first - second, len(seeds)
    error = difference.std(0, ddof=1) / math.sqrt(runs) if runs > 1 else np.zeros(len(points))
    map_ = pd.DataFrame(
        {
            "level": level,
            "x": points[:, 0].double().numpy(),
            "y": points[:, 1].double().numpy(),
            "difference": difference.mean(0),
            "standard_error": error,
            "runs": runs,
        }
    )
    masks = {"all": torch.ones(len(points), dtype=torch.bool), **groups(points)}
    areas = [
        pd.DataFrame(
            {
                "level": level,
                "seed": seeds,
                "area": name,
                "non_linear": first[:, mask.numpy()].mean(1),
                "linear": second[:, mask.numpy()].mean(1),
            }
        )
        for name, mask in masks.items()
        if mask.any()  # a coarse lattice may have no point in one
    ]
    return map_, pd.concat(areas)


def progress(steps: pd.DataFrame) -> pd.DataFrame:
    """Centiles over runs of the training loss, a run that has ended at its last one."""
    losses = steps.pivot(index="step", columns="seed", values="train_loss").ffill()
    places = np.geomspace(1, len(losses), min(CURVE_STEPS, len(losses))).round().astype(int) - 1
    sampled = losses.iloc[np.unique(places)]
    centiles = {name: sampled.quantile(share, axis=1) for name, share in CENTILES.items()}
    return pd.DataFrame(centiles).reset_index()
