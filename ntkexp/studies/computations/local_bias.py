"""Lemma 1 on a trained network: one step of gradient descent, mode by mode.

The network learns the disk by full-batch gradient descent. At some iterations it takes one trial
step of each learning rate, and what the step does to the outputs is held, in the eigenbasis of the
tangent kernel, against -eta lambda_j u_j^T grad_f L.
"""

from __future__ import annotations

import copy
from functools import partial

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from ntkexp import models
from ntkexp.data.disk import RADIUS
from ntkexp.models.base import Init
from ntkexp.models.mlp import Mlp
from ntkexp.progress import track
from ntkexp.studies.base import Frames, Part
from ntkexp.studies.local_bias import ERRORS, MODES, SLOPES, LocalBias
from ntkexp.tangent import tangent_kernel
from ntkexp.theory.float64 import Array, array
from ntkexp.theory.spectral_bias import mode_updates
from ntkexp.theory.spectrum import eigenpairs


def parts(config: LocalBias) -> list[Part]:
    """One network each."""
    return [
        partial(of_network, config, seed) for seed in range(config.seed, config.seed + config.seeds)
    ]


def of_network(config: LocalBias, seed: int) -> Frames:
    rows: dict[str, list[pd.DataFrame]] = {table.name: [] for table in config.tables}
    inputs, targets = disk(config.n, seed)
    mlp = Mlp(depth=config.depth, width=config.width, init=Init.default)
    model = models.build(mlp, (2,), 1, seed).double()
    # Where progress is reported, a signal is noticed.
    for iteration in track(range(max(config.iterations) + 1), "local_bias", shown=False):
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
) -> Frames:
    """Trial steps of every learning rate from where the network is."""
    eigs, U = eigenpairs(tangent_kernel(model, inputs).gram.detach().numpy())
    outputs = model(inputs).detach().requires_grad_()
    gradient = torch.autograd.grad(loss_of(outputs, targets), outputs)[0].numpy().ravel()
    etas = np.array(config.etas)
    predicted = np.stack([mode_updates(eigs, U, gradient, eta) for eta in config.etas])
    measured = np.stack([U.T @ trial(model, inputs, targets, eta) for eta in config.etas])
    errors = np.linalg.norm(measured - predicted, axis=1)
    labels: dict[str, object] = {"seed": seed, "iteration": iteration}
    place, mode = np.indices(measured.shape)
    return {
        "local_bias": MODES.frame(
            labels
            | {
                "eta": etas[place].ravel(),
                "mode": mode.ravel(),
                "eigenvalue": eigs[mode].ravel(),
                "measured": measured.ravel(),
                "predicted": predicted.ravel(),
            }
        ),
        "local_bias_error": ERRORS.frame(
            labels
            | {
                "eta": etas,
                "error": errors,
                "predicted_norm": np.linalg.norm(predicted, axis=1),
            }
        ),
        "local_bias_slope": SLOPES.frame(
            labels
            | {
                "eta_from": etas[:-1],
                "eta_to": etas[1:],
                "slope": np.diff(np.log(errors)) / np.diff(np.log(etas)),
            }
        ),
    }


def trial(model: nn.Module, inputs: Tensor, targets: Tensor, eta: float) -> Array:
    """The change of all outputs by one step of gradient descent, taken by a copy."""
    copied = copy.deepcopy(model)
    descend(copied, inputs, targets, eta)
    with torch.no_grad():
        return array((copied(inputs) - model(inputs)).numpy().ravel())
