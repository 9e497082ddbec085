"""Lemma 1 on a trained network: one step of gradient descent, mode by mode.

ntkexp study +exp=local_bias

The network learns the disk by full-batch gradient descent. At some iterations it takes one trial
step of each learning rate, and the change of the outputs is, in the eigenbasis of the
tangent kernel, compared with -eta lambda_j u_j^T grad_f L.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from ntkexp import models
from ntkexp.data.points import RADIUS
from ntkexp.errors import UserError
from ntkexp.models.base import Init
from ntkexp.models.mlp import Mlp
from ntkexp.options import MANY, MOST_SEEDS, SEED, count, each, option, positive, whole
from ntkexp.progress import track
from ntkexp.results.table import Table, float64, int64
from ntkexp.studies.base import Found, Part, Study
from ntkexp.tangent import tangent_kernel
from ntkexp.theory.float64 import Array, array
from ntkexp.theory.spectrum import eigenpairs, mode_updates

MODES = Table(
    "local_bias",
    "Change of the outputs along eigenvector `mode` by a trial step: measured, and by Lemma 1.",
    {
        "seed": int64("of the draw"),
        "iteration": int64("of training when the trial step was made"),
        "eta": float64("learning rate of the trial step"),
        "mode": int64("number of the mode, in order of eigenvalues, from 0"),
        "eigenvalue": float64("of the kernel over all rows, not divided by their number"),
        "measured": float64("found by running it"),
        "predicted": float64("by the formula"),
    },
)
ERRORS = Table(
    "local_bias_error",
    "Norm over all modes of what Lemma 1 leaves out, and of the predicted change.",
    {
        "seed": int64("of the draw"),
        "iteration": int64("of training when the trial step was made"),
        "eta": float64("learning rate of the trial step"),
        "error": float64("norm of what is left out"),
        "predicted_norm": float64("norm of the predicted change"),
    },
)
SLOPES = Table(
    "local_bias_slope",
    "d log error / d log eta between two neighbouring learning rates.",
    {
        "seed": int64("of the draw"),
        "iteration": int64("of training when the trial step was made"),
        "eta_from": float64("the larger rate"),
        "eta_to": float64("the smaller rate"),
        "slope": float64("2 is what a second-order error gives"),
    },
)
ETAS = (1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)


@dataclass
class LocalBias(Study):
    """Lemma 1 on a network that learns the disk: function updates by mode."""

    small: ClassVar = {"seeds": 1, "width": 32}
    tables: ClassVar = (MODES, ERRORS, SLOPES)

    seed: int = option(0, SEED, "the first of the seeds")
    seeds: int = option(3, count("networks", most=MOST_SEEDS), "training points, a network each")
    n: int = option(50, count("training points"), "training points")
    depth: int = option(2, count("hidden layers", most=1000), "hidden layers")
    width: int = option(64, count("units"), "units of a hidden layer")
    lr: float = option(0.5, positive(1e6), "learning rate")
    iterations: list[int] = option(
        [0, 100, 1000], each(whole(0, MANY, "as an iteration"), 1), "when trial steps are made"
    )
    etas: list[float] = option([*ETAS], each(positive(1e6)), "learning rates of trial steps")

    def check(self, config: Any = None) -> None:
        if len(self.etas) < 2 or self.etas != sorted(set(self.etas)):
            raise UserError(f"study.etas={self.etas}: needs 2 or more, above zero and rising")

    def parts(self) -> list[Part]:
        """A part for each network."""
        return [
            partial(of_network, self, seed) for seed in range(self.seed, self.seed + self.seeds)
        ]


def of_network(config: LocalBias, seed: int) -> Found:
    rows: dict[str, list[pd.DataFrame]] = {table.name: [] for table in config.tables}
    inputs, targets = disk(config.n, seed)
    mlp = Mlp(depth=config.depth, width=config.width, init=Init.default)
    model = models.build(mlp, (2,), 1, seed).double()
    # Where progress is reported, a signal is noticed.
    for iteration in track(range(max(config.iterations) + 1), "local_bias"):
        if iteration in config.iterations:
            for name, frame in look(config, model, inputs, targets, seed, iteration).items():
                rows[name].append(frame)
        descend(model, inputs, targets, config.lr)
    return {name: pd.concat(frames, ignore_index=True) for name, frames in rows.items()}


def disk(n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Points uniform in [-1, 1]^2; 1 where the radius is at most sqrt(2 / pi), else 0."""
    x = np.random.default_rng(seed).uniform(-1, 1, size=(n, 2))
    inside = np.linalg.norm(x, axis=1) <= RADIUS
    return torch.from_numpy(x), torch.from_numpy(inside.astype(np.float64))


def loss_of(outputs: Tensor, targets: Tensor) -> Tensor:
    return nn.functional.binary_cross_entropy_with_logits(outputs[:, 0], targets)


def descend(model: nn.Module, inputs: Tensor, targets: Tensor, eta: float) -> None:
    """w <- w - eta grad_w L."""
    gradients = torch.autograd.grad(loss_of(model(inputs), targets), list(model.parameters()))
    with torch.no_grad():
        for parameter, gradient in zip(model.parameters(), gradients, strict=True):
            parameter.sub_(eta * gradient)


def look(
    config: LocalBias, model: nn.Module, inputs: Tensor, targets: Tensor, seed: int, iteration: int
) -> dict[str, pd.DataFrame]:
    """Trial steps of every learning rate from where the network is."""
    eigs, U = eigenpairs(tangent_kernel(model, inputs).gram.detach().numpy())
    outputs = model(inputs).detach().requires_grad_()
    gradient = torch.autograd.grad(loss_of(outputs, targets), outputs)[0].numpy().ravel()
    etas = np.array(config.etas)
    predicted = np.stack([mode_updates(eigs, U, gradient, eta) for eta in config.etas])
    measured = np.stack([U.T @ trial(model, inputs, targets, eta) for eta in config.etas])
    errors = np.linalg.norm(measured - predicted, axis=1)
    place, mode = np.indices(measured.shape)
    modes = {
        "eta": etas[place].ravel(),
        "mode": mode.ravel(),
        "eigenvalue": eigs[mode].ravel(),
        "measured": measured.ravel(),
        "predicted": predicted.ravel(),
    }
    norms = {
        "eta": etas,
        "error": errors,
        "predicted_norm": np.linalg.norm(predicted, axis=1),
    }
    slopes = {
        "eta_from": etas[:-1],
        "eta_to": etas[1:],
        "slope": np.diff(np.log(errors)) / np.diff(np.log(etas)),
    }
    labels = {"seed": seed, "iteration": iteration}
    return {
        table.name: table.frame({**labels, **columns})
        for table, columns in ((MODES, modes), (ERRORS, norms), (SLOPES, slopes))
    }


def trial(model: nn.Module, inputs: Tensor, targets: Tensor, eta: float) -> Array:
    """The change of all outputs by one step of gradient descent, taken by a copy."""
    copied = copy.deepcopy(model)
    descend(copied, inputs, targets, eta)
    with torch.no_grad():
        return array((copied(inputs) - model(inputs)).numpy().ravel())
