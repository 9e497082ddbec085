"""How far a run must have come before it can decide a claim."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ntkexp.results.numbers.curves import accuracy, has_fitted
from ntkexp.results.record import Record
from ntkexp.results.select import reached_its_end

# Test accuracies are taken on 5,000 images or more, with a standard error of .7 points at most.
FALLEN = 0.05


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
    known = 1 - 0.9 * share

    def reached(record: Record) -> bool:
        come = record.iteration >= number and "evals" in record.tables
        return come and float(accuracy(record, "train").max()) > known

    description = f"iteration {number:,}, with a train accuracy above {known:.2f}"
    return Horizon(description, reached, number, memorised=True)


def either(first: Horizon, second: Horizon) -> Horizon:
    return Horizon(
        f"{first.description} or {second.description}",
        lambda record: first(record) or second(record),
        first.iterations,
    )


def has_overfitted(record: Record) -> bool:
    """Says whether the test accuracy has fallen from its best by more than it fluctuates."""
    if "evals" not in record.tables:
        return False
    curve = accuracy(record, "test")
    return bool(curve.max() - curve.iloc[-1] >= FALLEN)


FITTED_TRAINING = Horizon("100 % training accuracy", has_fitted)
OVERFITTED = Horizon(f"a test accuracy {100 * FALLEN:g} points below its best", has_overfitted)
OWN_END = Horizon("the experiment's own end", reached_its_end)
