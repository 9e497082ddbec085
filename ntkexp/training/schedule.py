"""The steps at which probes look, and the learning rate of every step."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from ntkexp.config import ProbingConfig, Spacing
from ntkexp.errors import UserError
from ntkexp.optim import Optimiser, Schedule


@dataclass(frozen=True)
class Looks:
    """The steps at which probes look: every `every`-th, or those listed, in rising order."""

    every: int | None = None
    steps: tuple[int, ...] = ()

    def due(self, step: int) -> bool:
        if self.every is not None:
            return step % self.every == 0
        place = bisect_left(self.steps, step)
        return place < len(self.steps) and self.steps[place] == step

    def after(self, step: int) -> float:
        """The next look after `step`, infinity without one."""
        if self.every is not None:
            return (step // self.every + 1) * self.every
        place = bisect_right(self.steps, step)
        return self.steps[place] if place < len(self.steps) else math.inf


def looks_of(config: ProbingConfig, last: int) -> Looks:
    """The schedule up to `last`; step 0 is before the first update.

    log: 0 and the distinct int(start * growth^k), k = 0, 1, 2, ...

    >>> looks_of(ProbingConfig(), last=12).steps
    (0, 5, 6, 7, 8, 10, 11)
    """
    if config.spacing is Spacing.linear:
        return Looks(every=config.every)
    if config.spacing is Spacing.list:
        if not config.steps:
            raise UserError("probing.spacing=list, but probing.steps is empty; give [0, 10, ...]")
        return listed(step for step in config.steps if step <= last)
    steps, exponent = {0}, 0
    while (step := int(config.start * config.growth**exponent)) <= last:
        steps.add(step)
        exponent += 1
    return listed(steps)


def log_steps(last: int) -> list[int]:
    """0, the steps at which probes look unless told, and the last one: where to keep checkpoints
    of a training of one's own.

    >>> log_steps(10)
    [0, 5, 6, 7, 8, 10]
    """
    if last < 0:
        raise ValueError(f"log_steps({last}): expected the number of steps of a training")
    return sorted({*looks_of(ProbingConfig(), last).steps, last})


def listed(steps: Iterable[int]) -> Looks:
    return Looks(steps=tuple(sorted(set(steps))))


def last_step(config: Optimiser, steps_per_epoch: int) -> int:
    """The step at which training is over at the latest."""
    return min(_limits(config, steps_per_epoch).values())


def limit_that_holds(config: Optimiser, steps_per_epoch: int) -> str:
    """The limit that comes first of two, as one types it; "" where there is only one.

    >>> limit_that_holds(Optimiser(epochs=3, steps=100), steps_per_epoch=20)
    'optim.epochs=3'
    """
    limits = _limits(config, steps_per_epoch)
    return min(limits, key=lambda name: limits[name]) if len(limits) > 1 else ""


def _limits(config: Optimiser, steps_per_epoch: int) -> dict[str, int]:
    limits = {} if config.steps is None else {f"optim.steps={config.steps}": config.steps}
    if config.epochs is not None:
        limits[f"optim.epochs={config.epochs}"] = config.epochs * steps_per_epoch
    return limits


def learning_rate(config: Optimiser, step: int, last: int) -> float:
    """eta of the update from `step` to `step + 1`; cosine and linear fall from lr to 0 at
    `last`."""
    if config.schedule is Schedule.constant:
        return config.lr
    if config.schedule is Schedule.linear:
        return config.lr * (1 - step / last)
    return config.lr * (1 + math.cos(math.pi * step / last)) / 2
