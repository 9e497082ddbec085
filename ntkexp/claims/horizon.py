"""The point that a run must have come to before it can decide a claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ntkexp.results.numbers.evals import curve
from ntkexp.results.record import Record
from ntkexp.results.select import has_fitted, reached_its_end

# The looks at the end of which a test accuracy must be lower than at its best.
LAST_LOOKS = 2
# The images of a test set, where a run is evaluated on all of them.
ALL_IMAGES = 10_000


@dataclass(frozen=True)
class Horizon:
    """`reached` tells of a run whether it came that far; `iterations`: when that is, where the
    horizon is a number of them; `memorised`: whether random labels must be known by then."""

    description: str
    reached: Callable[[Record], bool]
    iterations: int | None = None
    memorised: bool = False

    def __call__(self, record: Record) -> bool:
        return self.reached(record)


def iteration(number: int) -> Horizon:
    return Horizon(f"iteration {number:,}", lambda record: record.iteration >= number, number)


def memorised(number: int, share: float) -> Horizon:
    """A number of iterations by which the network has begun to memorise its random labels.

    If a share of the labels is drawn anew from ten classes, a tenth of these stay true. A network
    that knows every true label and no random one has a train accuracy of 1 - 0.9 share.
    """
    highest = 1 - 0.9 * share

    def reached(record: Record) -> bool:
        come = record.iteration >= number and "evals" in record.tables
        return come and float(curve(record.tables["evals"], "train").max()) > highest

    description = f"iteration {number:,}, with a train accuracy above {highest:.2f}"
    return Horizon(description, reached, number, memorised=True)


def either(first: Horizon, second: Horizon) -> Horizon:
    return Horizon(
        f"{first.description} or {second.description}",
        lambda record: first(record) or second(record),
        first.iterations,
    )


def fall_of_accuracy(evals: pd.DataFrame, config: Mapping[str, Any]) -> float:
    """By how many of its standard errors, of one image at least, the test accuracy at the last two
    looks, at the higher, lies below its best."""
    accuracy = curve(evals, "test")
    best = float(accuracy.max())
    images = config.get("evaluate.test_examples") or ALL_IMAGES
    error = max(float(np.sqrt(best * (1 - best) / images)), 1 / images)
    return (best - float(accuracy.iloc[-LAST_LOOKS:].max())) / error


def has_overfitted(record: Record) -> bool:
    """True if the test accuracy has begun to fall, for good. It has not where it is best at the
    end."""
    if "evals" not in record.tables:
        return False
    evals = record.tables["evals"]
    return len(curve(evals, "test")) > LAST_LOOKS and fall_of_accuracy(evals, record.config) > 1


FITTED_TRAINING = Horizon("100 % training accuracy", has_fitted)
OVERFITTED = Horizon("a test accuracy that falls, beyond its standard error", has_overfitted)
OWN_END = Horizon("the experiment's own end", reached_its_end)
