"""What is asked of a run without its tables: how far it came, its last numbers.

A run writes it into its status as it finishes, so that thousands of runs are listed and chosen
without a table being read. Of older runs, and of unfinished ones, it is taken from the tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = ("loss", "accuracy")
KEYS = ("step", "split", "subset")
# Tables of which more is asked than their steps.
WHOLE = ("evals", "members")
# Tables that go along training, those with fewest rows a look first.
ALONG_TRAINING = ("evals", "eigenvalues", "alignment", "spectrum", "directions", "complexity")


@dataclass(frozen=True)
class Summary:
    """`rows` of each table; `step`, the last of all tables, and `iteration`, the last along
    training; `last`: of each number of the last evaluation by name the mean, the least and the most
    over its `networks`, and how many values these are; `best`: the highest training accuracy;
    `lost`: the share of its fall by which the training loss rose again; `diverged`: how many of its
    networks did."""

    rows: Mapping[str, int] = field(default_factory=dict)
    step: int | None = None
    iteration: int = 0
    last: Mapping[str, tuple[float, float, float, int]] = field(default_factory=dict)
    networks: int = 1
    best: float | None = None
    lost: float | None = None
    diverged: int = 0


def summary_of(tables: Mapping[str, pd.DataFrame]) -> Summary:
    """`tables` need have the column `step` alone, but for those of `WHOLE`."""
    from ntkexp.results.numbers import evals

    steps = {
        name: int(frame["step"].max())
        for name, frame in tables.items()
        if "step" in frame and len(frame)
    }
    frame = tables.get("evals")
    whole = frame is not None and {"split", "subset", "loss", "accuracy"} <= {*frame}
    best = evals.best_of_training(frame) if frame is not None and whole else math.nan
    return Summary(
        {name: len(frame) for name, frame in tables.items()},
        max(steps.values(), default=None),
        next((steps[name] for name in ALONG_TRAINING if name in steps), 0),
        {} if frame is None else _last(frame),
        1 if frame is None else _networks(frame),
        None if math.isnan(best) else best,
        evals.lost(frame) if frame is not None and whole else None,
        int((tables["members"]["outcome"] == "diverged").sum()) if "members" in tables else 0,
    )


def _last(frame: pd.DataFrame) -> dict[str, tuple[float, float, float, int]]:
    """The last losses and accuracies by name; no accuracy where targets are numbers."""
    last = frame[frame["step"] == frame["step"].max()]
    keys = [key for key in ("split", "subset") if key in last]
    found = {}
    for key, rows in last.groupby(keys, sort=False) if keys and len(last) else ():
        split, subset = (*map(str, key), "all")[:2]
        part = "" if subset == "all" else f" {subset}"
        for name in NUMBERS:
            if name in rows and (name == "loss" or rows[name].notna().any()):
                of = rows[name]
                ends = float(of.mean()), float(of.min()), float(of.max())
                found[f"{split}{part} {name}"] = (*ends, len(of))
    return found


def _networks(frame: pd.DataFrame) -> int:
    """The number of networks that a run trains: members have a column for each key that differs."""
    keys = [key for key in frame if key not in (*KEYS, *NUMBERS)]
    return len(frame[keys].drop_duplicates()) if keys else 1
