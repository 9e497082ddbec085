"""When: the steps at which probes look, and the learning rate of every step."""

from __future__ import annotations

import math

from ntkexp.config import ProbingConfig, Spacing
from ntkexp.errors import UserError
from ntkexp.optim import Optimiser, Schedule


def probe_steps(config: ProbingConfig, last: int) -> frozenset[int]:
    """The steps of the schedule up to `last`; step 0 is before the first update.

    log: 0 and the distinct int(start * growth^k), k = 0, 1, 2, ...

    >>> sorted(probe_steps(ProbingConfig(), last=12))
    [0, 5, 6, 7, 8, 10, 11, 12]
    """
    if config.spacing is Spacing.linear:
        return frozenset(range(0, last + 1, config.every))
    if config.spacing is Spacing.list:
        if not config.steps:
            raise UserError("probing.spacing=list, but probing.steps is empty; give [0, 10, ...]")
        return frozenset(step for step in config.steps if step <= last)
    steps, exponent = {0}, 0
    while (step := int(config.start * config.growth**exponent)) <= last:
        steps.add(step)
        exponent += 1
    return frozenset(steps)


def learning_rate(config: Optimiser, step: int, last: int) -> float:
    """eta of the update from `step` to `step + 1`; cosine falls from lr towards 0 at `last`."""
    if config.schedule is Schedule.constant:
        return config.lr
    return config.lr * (1 + math.cos(math.pi * step / last)) / 2
