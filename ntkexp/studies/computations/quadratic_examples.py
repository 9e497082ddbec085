"""Curves of the quadratic model and its linearisation on Examples 1 to 3.

What is computed: ntkexp/studies/quadratic_examples.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ntkexp.studies.base import Found
from ntkexp.studies.quadratic_examples import CURVES, LEVELS, QuadraticExamples
from ntkexp.theory.float64 import Array, array
from ntkexp.theory.lazy import quadratic_examples as data
from ntkexp.theory.lazy.quadratic_model import Modes, linearised, non_linear

REGIMES = {"non_linear": non_linear, "linearised": linearised}
# A curve is followed until it is well below the lowest level.
FOLLOWED = 0.005


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


def frames(config: QuadraticExamples) -> Found:
    curves: dict[str, list[object]] = {name: [] for name in CURVES.columns}
    levels: dict[str, list[object]] = {name: [] for name in LEVELS.columns}
    for case in cases(config):
        for regime in REGIMES:
            place = (case.example, case.basis, case.draw, regime)
            times, losses = followed(case, regime, config)
            for group, loss in losses.items():
                for row in zip(times.tolist(), loss.tolist(), strict=True):
                    _append(curves, (*place, row[0], group, row[1]))
            if "minority" in losses:
                for level in config.levels:
                    _append(levels, (*place, level, *at_level(times, losses, level)))
    return {"quadratic_curves": CURVES.frame(curves), "quadratic_levels": LEVELS.frame(levels)}


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
    """Times from 0 until what is waited for is low, and the mean loss of every group at each."""
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
    """When the majority's loss first is at `level`, and the minority's then, between two times."""
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
