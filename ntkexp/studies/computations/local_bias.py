"""Lemma 1 on a trained network: one step of gradient descent, mode by mode.

The network learns the disk by full-batch gradient descent. At some iterations it takes one trial
step of each learning rate, and what the step does to the outputs is held, in the eigenbasis of the
tangent kernel, against -eta lambda_j u_j^T grad_f L.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from ntkexp import models
from ntkexp.config import Init, MLPConfig
from ntkexp.errors import UserError
from ntkexp.memory import available_bytes, refuse_beyond
from ntkexp.models.size import parameters
from ntkexp.options import MANY, MOST_SEEDS, SEED, count, each, option, positive, whole
from ntkexp.progress import Progress
from ntkexp.results.table import Table
from ntkexp.tangent import tangent_kernel
from ntkexp.theory.float64 import Array, array
from ntkexp.theory.spectral_bias import mode_updates
from ntkexp.theory.spectrum import eigenpairs


@dataclass
class Config:
    seed: int = option(0, SEED)
    seeds: int = option(3, count("networks", most=MOST_SEEDS))
    n: int = option(50, count("training points"))
    depth: int = option(2, count("hidden layers", most=1000))
    width: int = option(64, count("units"))
    lr: float = option(0.5, positive(1e6))
    iterations: list[int] = option([0, 100, 1000], each(whole(0, MANY, "as an iteration")))
    etas: list[float] = option(
        [1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0],
        each(positive(1e6)),
    )


MODES = Table(
    "local_bias",
    "Change of the outputs along eigenvector `mode` by a trial step: measured, and by Lemma 1.",
    {
        "seed": "int64",
        "iteration": "int64",
        "eta": "float64",
        "mode": "int64",
        "eigenvalue": "float64",
        "measured": "float64",
        "predicted": "float64",
    },
)
ERRORS = Table(
    "local_bias_error",
    "Norm over all modes of what Lemma 1 leaves out, and of the predicted change.",
    {
        "seed": "int64",
        "iteration": "int64",
        "eta": "float64",
        "error": "float64",
        "predicted_norm": "float64",
    },
)
SLOPES = Table(
    "local_bias_slope",
    "d log error / d log eta between two neighbouring learning rates.",
    {
        "seed": "int64",
        "iteration": "int64",
        "eta_from": "float64",
        "eta_to": "float64",
        "slope": "float64",
    },
)
TABLES = (MODES, ERRORS, SLOPES)


def run(config: Config, *, progress: bool) -> dict[str, pd.DataFrame]:
    check(config)
    rows: dict[str, list[pd.DataFrame]] = {table.name: [] for table in TABLES}
    last = max(config.iterations)
    with Progress("local_bias", config.seeds * (last + 1), shown=progress) as bar:
        for seed in range(config.seed, config.seed + config.seeds):
            inputs, targets = disk(config.n, seed)
            mlp = MLPConfig(depth=config.depth, width=config.width, init=Init.default)
            model = models.build(mlp, (2,), 1, seed).double()
            for iteration in range(last + 1):
                if iteration in config.iterations:
                    frames = look(config, model, inputs, targets, seed, iteration)
                    for name, frame in frames.items():
                        rows[name].append(frame)
                descend(model, inputs, targets, config.lr)
                bar.advance()
    return {name: pd.concat(frames, ignore_index=True) for name, frames in rows.items()}


def check(config: Config) -> None:
    if not config.iterations:
        raise UserError("study.iterations=[]: needs one iteration or more, from 0 on")
    if len(config.etas) < 2 or config.etas != sorted(set(config.etas)):
        raise UserError(f"study.etas={config.etas}: needs 2 or more, above zero and rising")
    refuse_beyond(
        f"study.n={config.n}",
        f"kernels of {config.n:,} x {config.n:,}",
        3 * 8 * config.n**2,
        available_bytes(),
    )
    mlp = MLPConfig(depth=config.depth, width=config.width)
    refuse_beyond(
        f"study.width={config.width}",
        "its parameters, their gradients and a trial step",
        3 * 8 * parameters(mlp, (2,), 1),
        available_bytes(),
    )


def disk(n: int, seed: int) -> tuple[Tensor, Tensor]:
    """Points uniform in [-1, 1]^2; 1 where the radius is at most sqrt(2 / pi), else 0."""
    x = np.random.default_rng(seed).uniform(-1, 1, size=(n, 2))
    inside = np.linalg.norm(x, axis=1) <= np.sqrt(2 / np.pi)
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
    config: Config, model: nn.Module, inputs: Tensor, targets: Tensor, seed: int, iteration: int
) -> dict[str, pd.DataFrame]:
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
