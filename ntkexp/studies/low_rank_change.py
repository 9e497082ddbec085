"""The remark on LoRA in section 4 of "An Adaptive Tangent Feature Perspective of Neural Networks"
(LeJeune and Alemohammad): changes of weights of low rank, and the features they adapt.

ntkexp study +exp=adaptive/low_rank

Networks whose weights change by U V^T, trained until they fit alike, and their kernels.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from ntkexp import data, models
from ntkexp.data import Split
from ntkexp.data.fitted_digits import FittedDigits, Targets
from ntkexp.models.bias_free_mlp import BiasFreeMlp
from ntkexp.options import MOST_SEEDS, SEED, count, each, option, positive, whole
from ntkexp.progress import Progress
from ntkexp.results.table import Table, float64, int64
from ntkexp.seeds import generator
from ntkexp.studies.base import Found, Part, Study
from ntkexp.tangent import average_features, tangent_kernel
from ntkexp.theory.adaptive.kernels import cosine, label_kernel
from ntkexp.theory.float64 import Array, array

FULL, MOMENTUM = 0, 0.9
Weights = dict[str, Tensor]

LOW_RANK = Table(
    "low_rank",
    "one network whose changes of weights have at most a rank, trained to a common error",
    {
        "seed": int64("of weights, points and targets"),
        "rank": int64("of every layer's change; 0 is no limit"),
        "epochs": int64("until the training error was below the common one, or the limit"),
        "train_error": float64("mean of (f - y)^2 on the training points"),
        "test_error": float64("the same on others"),
        "wrong": float64("share of others where f has not the sign of y"),
        "cosine_full": float64("of its adapted kernel with that of the unlimited network"),
        "cosine_initial": float64("of its adapted kernel with the initial one"),
        "cosine_label": float64("of its adapted kernel with its label kernel, r = f - f_0"),
        "distance": float64("norm of the change of all weights"),
    },
)


@dataclass
class LowRankChange(Study):
    """Figure 1's network with W = W_0 + U V^T, U = 0 and V ~ N(0, 1 / fan_in) at first."""

    tables: ClassVar = (LOW_RANK,)
    small: ClassVar = {"seeds": 2, "train_examples": 100, "width": 64}

    seed: int = option(0, SEED, "the first of the seeds")
    seeds: int = option(10, count("networks of each rank", most=MOST_SEEDS), "of each rank")
    ranks: list[int] = option([1, 2, 4, 8, 16], each(whole(1, 100_000, "as a rank")), "of changes")
    targets: Targets = option(Targets.sign, about="a linear fit of random features, or its sign")
    train_examples: int = option(500, count("examples"), "training images")
    width: int = option(128, count("units"), "units a layer")
    error: float = option(1e-3, positive(1e6), "the mean error at which training ends")
    lr: float = option(0.2, positive(), "learning rate")
    batch_size: int = option(100, count("examples"), "examples of an update")
    epochs: int = option(2000, count("epochs"), "passes over the training images")
    points: int = option(50, whole(2, 100_000, "points"), "points on the way of the weights")

    def files(self) -> Mapping[str, str]:
        return FittedDigits().files()

    def parts(self) -> list[Part]:
        return [partial(of_seed, self, self.seed + index) for index in range(self.seeds)]


def of_seed(config: LowRankChange, seed: int) -> Found:
    """All ranks of one seed: the same points, targets and first weights."""
    options = FittedDigits(
        targets=config.targets, train_examples=config.train_examples, width=config.width
    )
    dataset = data.load(options, seed, torch.device("cpu"), progress=False)
    network = models.build(BiasFreeMlp(width=config.width), dataset.input_shape, 1, seed)
    rows = []
    full: Array | None = None
    for rank in (FULL, *config.ranks):
        fit = trained(config, network, dataset.train, rank, seed)
        kernel = adapted(config, network, fit.weights, dataset.train.inputs)
        full = kernel if full is None else full
        rows.append(
            {
                "rank": rank,
                "epochs": fit.epochs,
                "train_error": error(network, fit.weights, dataset.train),
                "test_error": error(network, fit.weights, dataset.test),
                "wrong": wrong(network, fit.weights, dataset.test),
                "cosine_full": cosine(kernel, full),
                **of_kernel(network, fit.weights, dataset.train.inputs, kernel),
                "distance": distance(network, fit.weights),
            }
        )
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return {LOW_RANK.name: {"seed": seed, **columns}}


@dataclass(frozen=True)
class Trained:
    weights: Weights
    epochs: int


class Change:
    """Weights of a network: the first ones, and a change of at most a rank, or of any for FULL."""

    def __init__(self, network: nn.Module, rank: int, draws: torch.Generator) -> None:
        self.start = {name: p.detach() for name, p in network.named_parameters()}
        self.factors: dict[str, list[Tensor]] = {}
        for name, weight in self.start.items():
            P, Q = weight.shape
            if rank == FULL:
                self.factors[name] = [torch.zeros(P, Q)]
            else:
                width = min(rank, P, Q)
                V = torch.randn(Q, width, generator=draws) / math.sqrt(Q)
                self.factors[name] = [torch.zeros(P, width), V]
        self.parameters = [
            factor.requires_grad_() for factors in self.factors.values() for factor in factors
        ]

    def weights(self) -> Weights:
        return {
            name: weight + (factors[0] if len(factors) == 1 else factors[0] @ factors[1].t())
            for (name, weight), factors in zip(
                self.start.items(), self.factors.values(), strict=True
            )
        }


def trained(
    config: LowRankChange, network: nn.Module, train: Split, rank: int, seed: int
) -> Trained:
    """Momentum SGD at a constant rate until the error on all points is below the common one."""
    change = Change(network, rank, generator(seed, "low rank", rank))
    velocities = [torch.zeros_like(p) for p in change.parameters]
    draws = generator(seed, "low rank batches")
    epochs = 0
    # With thousands of points this takes minutes; reporting progress lets a signal stop it.
    progress = Progress("low rank", config.epochs, shown=False)
    while epochs < config.epochs:
        order = torch.randperm(len(train), generator=draws)
        for rows in torch.split(order, config.batch_size):
            outputs = functional_call(network, change.weights(), (train.inputs[rows],))[:, 0]
            loss = (outputs - train.targets[rows]).square().mean() / 2
            gradients = torch.autograd.grad(loss, change.parameters)
            with torch.no_grad():
                for part, velocity, gradient in zip(
                    change.parameters, velocities, gradients, strict=True
                ):
                    velocity.mul_(MOMENTUM).add_(gradient)
                    part.sub_(velocity, alpha=config.lr)
        epochs += 1
        progress.advance()
        weights = {name: w.detach() for name, w in change.weights().items()}
        if error(network, weights, train) < config.error:
            break
    return Trained(weights, epochs)


@torch.no_grad()
def outputs_of(network: nn.Module, weights: Weights, inputs: Tensor) -> Tensor:
    outputs: Tensor = functional_call(network, weights, (inputs,))
    return outputs[:, 0]


def error(network: nn.Module, weights: Weights, split: Split) -> float:
    return float((outputs_of(network, weights, split.inputs) - split.targets).square().mean())


def wrong(network: nn.Module, weights: Weights, split: Split) -> float:
    return float(
        (outputs_of(network, weights, split.inputs).sign() != split.targets.sign()).double().mean()
    )


def adapted(config: LowRankChange, network: nn.Module, weights: Weights, inputs: Tensor) -> Array:
    """The kernel of the average features on the segment from the first weights, in all of W."""
    start = {name: p.detach().clone() for name, p in network.named_parameters()}
    end = _with(network, weights)
    average = average_features(end, start, inputs, points=config.points, compared=())
    return array(average.kernel.gram.double().numpy())


def of_kernel(
    network: nn.Module, weights: Weights, inputs: Tensor, kernel: Array
) -> dict[str, float]:
    start = {name: p.detach() for name, p in network.named_parameters()}
    r = outputs_of(network, weights, inputs) - outputs_of(network, start, inputs)
    initial = tangent_kernel(network, inputs, layers=False).gram.double().numpy()
    return {
        "cosine_initial": cosine(kernel, initial),
        "cosine_label": cosine(kernel, label_kernel(r.double().numpy())),
    }


def distance(network: nn.Module, weights: Weights) -> float:
    changes = [weights[name] - p.detach() for name, p in network.named_parameters()]
    return float(np.sqrt(sum(float(change.double().square().sum()) for change in changes)))


def _with(network: nn.Module, weights: Weights) -> nn.Module:
    copied = copy.deepcopy(network)
    copied.load_state_dict(weights)
    return copied
