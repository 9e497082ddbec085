"""Linear regression learns its modes one by one (Propositions 7 and 9, appendix A.5.2).

ntkexp study +exp=linear_modes

Features (n, P) with a power-law spectrum lambda_j = j^-decay, labels at random; gradient descent
runs in weight space and its modes are compared with the closed forms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ntkexp.errors import UserError
from ntkexp.options import SEED, count, option, positive
from ntkexp.progress import track
from ntkexp.results.table import STEP, Table, float64, int64
from ntkexp.studies.base import Found, Study
from ntkexp.theory.float64 import Array, array
from ntkexp.theory.linear_regression import (
    iterate,
    min_norm_solution,
    mode_coefficients,
    time_constants,
)

CURVES = Table(
    "linear_modes",
    "Coefficient f_jt of one mode after `step` iterations: run in weight space, and by (51).",
    {
        "step": STEP,
        "mode": int64("number of the mode, in order of eigenvalues, from 0"),
        "measured": float64("found by running it"),
        "predicted": float64("by the formula"),
        "target": float64("what it converges to"),
    },
)
FUNCTION = Table(
    "linear_function",
    "Largest difference over training and other points between the run and (49).",
    {"step": STEP, "difference": float64("largest absolute")},
)
CONSTANTS = Table(
    "time_constants",
    "Iterations in which a mode's residual falls by e at eta = 1 / lambda_1; printed: the paper's.",
    {
        "mode": int64("number of the mode, in order of eigenvalues, from 0"),
        "eigenvalue": float64("of the kernel over all rows, not divided by their number"),
        "measured": float64("found by running it"),
        "predicted": float64("by the formula"),
        "printed": float64("by the formula as printed"),
    },
)


# A residual is followed down to this share of its start, well above rounding.
FOLLOWED = 1e-6


@dataclass
class LinearModes(Study):
    """Linear regression learns its modes one by one."""

    small: ClassVar = {"iterations": 500}
    tables: ClassVar = (CURVES, FUNCTION, CONSTANTS)
    # The first mode is learnt at once: the printed formula has infinity there.
    may_be_infinite: ClassVar = {"time_constants": ("printed",)}

    seed: int = option(0, SEED, "the start of all random numbers")
    n: int = option(20, count("training examples"), "training examples, and modes")
    features: int = option(40, count("features"), "features, n or more")
    decay: float = option(1.5, positive(100), "power at which the spectrum falls")
    other_points: int = option(20, count("points"), "further points to check Proposition 7 at")
    iterations: int = option(2000, count("iterations"), "steps of gradient descent")

    def check(self, config: Any = None) -> None:
        if self.features < self.n:
            raise UserError(
                f"study.features={self.features}: at least the study.n={self.n} examples, so that "
                "every one of n modes has an eigenvalue"
            )

    def compute(self) -> Found:
        U, eigs, phi, others = draw(self)
        generator = np.random.default_rng([self.seed, 1])
        y, start = generator.normal(size=self.n), phi.T @ generator.normal(size=self.n)
        eta = 1.0 / eigs[0]
        steps = np.arange(self.iterations + 1)
        weights = descend(phi, y, start, eta, self.iterations)
        measured = weights @ phi.T @ U
        predicted = mode_coefficients(measured[0], U.T @ y, eigs, eta, steps)
        places = np.indices(measured.shape)
        return {
            "linear_modes": {
                "step": places[0].ravel(),
                "mode": places[1].ravel(),
                "measured": measured.ravel(),
                "predicted": predicted.ravel(),
                "target": np.broadcast_to(U.T @ y, measured.shape).ravel(),
            },
            "linear_function": function_differences(phi, others, y, weights, eta),
            "time_constants": {
                "mode": np.arange(self.n),
                "eigenvalue": eigs,
                "measured": measured_constants(measured - U.T @ y),
                "predicted": time_constants(eigs),
                "printed": printed_constants(eigs),
            },
        }


def draw(config: LinearModes) -> tuple[Array, Array, Array, Array]:
    """u_j as columns, lambda_j, training features (n, P) and features of other points."""
    generator = np.random.default_rng([config.seed, 0])
    U = np.linalg.qr(generator.normal(size=(config.n, config.n)))[0]
    V = np.linalg.qr(generator.normal(size=(config.features, config.n)))[0]
    eigs = np.arange(1, config.n + 1, dtype=np.float64) ** -config.decay
    others = generator.normal(size=(config.other_points, config.features)) / np.sqrt(config.n)
    return U, eigs, (U * np.sqrt(eigs)) @ V.T, others


def descend(phi: Array, y: Array, start: Array, eta: float, iterations: int) -> Array:
    """Weights (iterations + 1, P) of gradient descent on |Phi w - y|^2 / 2."""
    weights = np.empty((iterations + 1, len(start)))
    weights[0] = start
    for t in track(range(iterations), "linear_modes"):
        weights[t + 1] = weights[t] - eta * phi.T @ (phi @ weights[t] - y)
    return weights


def function_differences(
    phi: Array, others: Array, y: Array, weights: Array, eta: float
) -> dict[str, object]:
    """Proposition 7 on all points, at log-spaced steps."""
    points = np.vstack([phi, others])
    f_star = points @ min_norm_solution(phi, y)
    last = len(weights) - 1
    steps = np.unique(np.geomspace(1, last, 20).round().astype(np.int64))
    differences = [
        np.abs(
            points @ weights[t] - iterate(points @ phi.T, points @ weights[0], f_star, eta, t)
        ).max()
        for t in steps.tolist()
    ]
    return {"step": steps, "difference": np.array(differences)}


def measured_constants(residuals: Array) -> Array:
    """-t / log(r_t / r_0) at the last step where the residual r_t (steps, modes) is well resolved.

    Zero for a mode that is gone after its first iteration.
    """
    shares = np.abs(residuals / residuals[0])
    last = (shares > FOLLOWED).cumprod(axis=0).sum(axis=0).astype(np.int64) - 1
    left = np.take_along_axis(shares, last[None], axis=0)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return array(np.where(last > 0, -last / np.log(left), 0.0))


def printed_constants(eigs: Array) -> Array:
    """-log(1 - lambda_j / lambda_1), the inverse of a time: for comparison only."""
    with np.errstate(divide="ignore"):
        return array(-np.log1p(-eigs / eigs[0]))
