"""Two ensembles of one set of seeds, compared at equal training loss.

What is computed: ntkexp/studies/yin_yang_maps.py.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import torch

from ntkexp.data.points.disk import lattice
from ntkexp.data.points.yin_yang import groups
from ntkexp.errors import UserError
from ntkexp.studies.base import Found
from ntkexp.studies.yin_yang_maps import (
    AREAS,
    MAPS,
    PROGRESS,
    REACHED,
    RunOfMembers,
    YinYangMaps,
)

CENTILES = {"low": 0.1, "median": 0.5, "high": 0.9}
# Steps of the progress curves, evenly on a log axis.
CURVE_STEPS = 200


def frames(config: YinYangMaps) -> Found:
    regimes = {"non_linear": config.non_linear, "linear": config.linear}
    losses = {name: at_levels(run) for name, run in regimes.items()}
    found = [compared(level, losses) for level in levels_of(losses)]
    return {
        "yin_yang_maps": pd.concat([one for one, _ in found])[list(MAPS.columns)],
        "yin_yang_areas": pd.concat([two for _, two in found])[list(AREAS.columns)],
        "yin_yang_reached": pd.concat(
            [reached(run).assign(regime=name) for name, run in regimes.items()]
        )[list(REACHED.columns)],
        "yin_yang_progress": pd.concat(
            [progress(run.steps.table()).assign(regime=name) for name, run in regimes.items()]
        )[list(PROGRESS.columns)],
    }


def reached(run: RunOfMembers) -> pd.DataFrame:
    """seed, level, step: when each run first was below each level."""
    events = run.events.table()
    chosen = events[events["event"] == "train_loss"].rename(columns={"threshold": "level"})
    return chosen[["seed", "level", "step"]].sort_values(["level", "seed"])


def at_levels(run: RunOfMembers) -> dict[float, pd.DataFrame]:
    """Of every level the test losses, (seeds, points)."""
    crossed, snapshot = reached(run), run.snapshot.table()
    found = {}
    for level, rows in crossed.groupby("level"):
        seen = rows.merge(snapshot, on=["seed", "step"])
        found[float(str(level))] = seen.pivot(index="seed", columns="example", values="loss")
    return found


def levels_of(losses: dict[str, dict[float, pd.DataFrame]]) -> list[float]:
    """Levels that runs of both regimes came below, falling."""
    common = set.intersection(*(set(found) for found in losses.values()))
    if not common:
        raise UserError("study=yin_yang_maps: no training loss that runs of both regimes reached")
    return sorted(common, reverse=True)


def compared(
    level: float, losses: dict[str, dict[float, pd.DataFrame]]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The map of the differences, and the areas' mean losses, of the seeds that both have."""
    ours, theirs = losses["non_linear"][level], losses["linear"][level]
    seeds = ours.index.intersection(theirs.index)
    first, second = (one.loc[seeds].to_numpy(dtype=np.float64) for one in (ours, theirs))
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
    every = {"all": torch.ones(len(points), dtype=torch.bool), **groups(points)}
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
        for name, mask in every.items()
    ]
    return map_, pd.concat(areas)


def progress(steps: pd.DataFrame) -> pd.DataFrame:
    """Centiles over runs of the training loss, a run that has ended at its last one."""
    losses = steps.pivot(index="step", columns="seed", values="train_loss").ffill()
    places = np.geomspace(1, len(losses), min(CURVE_STEPS, len(losses))).round().astype(int) - 1
    shown = losses.iloc[np.unique(places)]
    centiles = {name: shown.quantile(share, axis=1) for name, share in CENTILES.items()}
    return pd.DataFrame(centiles).reset_index()
