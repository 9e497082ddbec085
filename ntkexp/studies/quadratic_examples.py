"""Figure 5.4 of George's thesis: what the quadratic model and its linearisation learn first.

ntkexp study +exp=lazy/quadratic_examples

Closed forms: ntkexp/theory/lazy/quadratic_model.py. In Example 2 all modes but one have one
singular value, so that their basis is open, and the order of learning depends on it: `lapack` is
the one that a numerical library happens to find, in `two_modes` the labels lie in two modes, and
`rotation` are draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ntkexp.data.quadratic_example import Constants
from ntkexp.options import SEED, Rule, each, option, positive, whole
from ntkexp.results.table import Table, float64, int64, string
from ntkexp.studies.base import Found, Study
from ntkexp.theory.float64 import Array, array
from ntkexp.theory.lazy import quadratic_model as data
from ntkexp.theory.lazy.quadratic_model import Modes, linearised, non_linear

PLACE = {
    "example": int64("1, 2 or 3 of section 5.4.4"),
    "basis": string("of equal modes: `lapack`, `two_modes` or `rotation`"),
    "draw": int64("number of the rotation, else 0"),
    "regime": string("`non_linear` or `linearised`"),
}
CURVES = Table(
    "quadratic_curves",
    "Mean loss of a group of training examples at a time of gradient flow, from the closed form.",
    PLACE
    | {
        "time": float64("of gradient flow on the sum of the losses"),
        "group": string("`majority` or `minority`; in Example 1 the number of the example"),
        "loss": float64("half the squared error, mean over the group"),
    },
)
LEVELS = Table(
    "quadratic_levels",
    "Mean loss of the minority when that of the majority first is at a level.",
    PLACE
    | {
        "level": float64("mean loss of the majority"),
        "time": float64("when it is reached"),
        "minority": float64("mean loss of the minority then"),
    },
)
REGIMES = {"non_linear": non_linear, "linearised": linearised}
# A curve is followed until it is well below the lowest level.
FOLLOWED = 0.005
LEVEL = Rule(lambda level: 0.01 <= level < 0.5, "from 0.01 to below 0.5")


@dataclass
class QuadraticExamples(Constants, Study):
    """Examples 1 to 3 in closed form."""

    tables: ClassVar = (CURVES, LEVELS)

    sigma: float = option(1e-3, positive(0.1), "squared weights at the start")
    rotations: int = option(20, whole(0, 1000, "rotations"), "Example 2: random bases")
    seed: int = option(0, SEED, "the start of all random numbers")
    levels: list[float] = option([0.4, 0.3, 0.2, 0.1], each(LEVEL), "losses to compare at")
    points: int = option(300, whole(10, 100_000, "times"), "times of a curve")

    def check(self, config: Any = None) -> None:
        self.refuse_impossible("study")

    def compute(self) -> Found:
        curves: dict[str, list[object]] = {name: [] for name in CURVES.columns}
        levels: dict[str, list[object]] = {name: [] for name in LEVELS.columns}
        for case in cases(self):
            for regime in REGIMES:
                place = (case.example, case.basis, case.draw, regime)
                times, losses = followed(case, regime, self)
                for group, loss in losses.items():
                    for row in zip(times.tolist(), loss.tolist(), strict=True):
                        _append(curves, (*place, row[0], group, row[1]))
                if "minority" in losses:
                    for level in self.levels:
                        _append(levels, (*place, level, *at_level(times, losses, level)))
        return {"quadratic_curves": curves, "quadratic_levels": levels}


@dataclass(frozen=True)
class Case:
    """One data set in one basis: its modes, labels and groups."""

    example: int
    basis: str
    draw: int
    modes: Modes
    labels: Array
    groups: Mapping[str, np.ndarray]
    waited: tuple[str, ...]  # groups whose losses are followed to the end


def _append(columns: Mapping[str, list[object]], row: tuple[object, ...]) -> None:
    for column, value in zip(columns.values(), row, strict=True):
        column.append(value)


def cases(config: QuadraticExamples) -> Iterator[Case]:
    inputs, labels = data.reversed_order(config.mu)
    each = {str(i + 1): np.arange(len(labels)) == i for i in range(len(labels))}
    yield Case(1, "lapack", 0, Modes.of(inputs, labels), labels, each, tuple(each))

    few = data.minority(config.n, config.q)
    two = {"majority": ~few, "minority": few}
    inputs, labels = data.label_noise(config.n, config.q, config.noise_eta)
    bases = [("lapack", 0, None), ("two_modes", 0, data.noise_basis(config.n, config.q))]
    for draw in range(config.rotations):
        turned = data.noise_basis(config.n, config.q, rotation(config, draw))
        bases.append(("rotation", draw, turned))
    for name, draw, basis in bases:
        yield Case(2, name, draw, Modes.of(inputs, labels, basis), labels, two, ("majority",))

    inputs, labels = data.spurious(config.n, config.q, config.spurious_eta, config.core)
    yield Case(3, "lapack", 0, Modes.of(inputs, labels), labels, two, ("majority",))


def rotation(config: QuadraticExamples, draw: int) -> Array:
    """(n - 1, n - 1): orthogonal, uniform among all."""
    size = config.n - 1
    drawn = np.random.default_rng([config.seed, draw]).normal(size=(size, size))
    Q, R = np.linalg.qr(drawn)
    return array(Q * np.sign(np.diag(R)))


def followed(case: Case, regime: str, config: QuadraticExamples) -> tuple[Array, dict[str, Array]]:
    """Times from 0 until the losses of the groups in `waited` are low, and the mean loss of every
    group at each."""
    modes = case.modes
    fastest = modes.mu.max() * config.sigma if regime == "linearised" else modes.correlation.max()
    end = 1 / fastest
    while True:
        losses = losses_at(case, regime, config, array([end]))
        if all(losses[group][0] <= FOLLOWED for group in case.waited):
            break
        end *= 1.25
    times = np.concatenate([[0.0], np.geomspace(1e-4 * end, end, config.points - 1)])
    return times, losses_at(case, regime, config, times)


def losses_at(case: Case, regime: str, config: QuadraticExamples, times: Array) -> dict[str, Array]:
    theta = REGIMES[regime](case.modes, config.sigma / 2, times)
    losses = (case.modes.outputs(theta) - case.labels) ** 2 / 2
    return {name: array(losses[:, mask].mean(1)) for name, mask in case.groups.items()}


def at_level(times: Array, losses: Mapping[str, Array], level: float) -> tuple[float, float]:
    """The time when the majority's loss first is at `level`, and the minority's loss then, between
    two times."""
    majority = losses["majority"]
    after = int(np.argmax(majority <= level))
    before = max(0, after - 1)
    fall = majority[before] - majority[after]
    share = (majority[before] - level) / fall if fall > 0 else 0.0
    time, minority = (
        float(values[before] + share * (values[after] - values[before]))
        for values in (times, losses["minority"])
    )
    return time, minority
