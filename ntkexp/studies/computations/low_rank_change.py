"""Networks whose weights change by U V^T, trained until they fit alike, and their kernels."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from ntkexp import data, models
from ntkexp.data import Split
from ntkexp.data.fitted_digits import FittedDigits
from ntkexp.models.bias_free_mlp import BiasFreeMlp
from ntkexp.progress import Progress
from ntkexp.seeds import generator
from ntkexp.studies.base import Frames
from ntkexp.studies.low_rank_change import FULL, LOW_RANK, LowRankChange
from ntkexp.tangent import average_features, tangent_kernel
from ntkexp.theory.adaptive.kernels import cosine, label_kernel
from ntkexp.theory.float64 import Array, array

MOMENTUM = 0.9
Weights = dict[str, Tensor]


def of_seed(config: LowRankChange, seed: int) -> Frames:
    """All ranks of one seed: the same points, targets and first weights."""
    options = FittedDigits(
        targets=config.targets, train_examples=config.train_examples, width=config.width
    )
    dataset = data.load(options, seed, torch.device("cpu"), progress=False)
    network = models.build(BiasFreeMlp(width=config.width), dataset.input_shape, 1, seed)
    rows = []
    full: Array | None = None
    for rank in (FULL, *config.ranks):
        found = trained(config, network, dataset.train, rank, seed)
        kernel = adapted(config, network, found.weights, dataset.train.inputs)
        full = kernel if full is None else full
        rows.append(
            {
                "rank": rank,
                "epochs": found.epochs,
                "train_error": error(network, found.weights, dataset.train),
                "test_error": error(network, found.weights, dataset.test),
                "wrong": wrong(network, found.weights, dataset.test),
                "cosine_full": cosine(kernel, full),
                **of_kernel(network, found.weights, dataset.train.inputs, kernel),
                "distance": distance(network, found.weights),
            }
        )
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    return {LOW_RANK.name: LOW_RANK.frame({"seed": seed, **columns})}


@dataclass(frozen=True)
class Trained:
    weights: Weights
    epochs: int


class Change:
    """The weights of a network as its first ones and a change, of a rank or of any."""

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
        self.parameters = [part.requires_grad_() for one in self.factors.values() for part in one]

    def weights(self) -> Weights:
        return {
            name: weight + (one[0] if len(one) == 1 else one[0] @ one[1].t())
            for (name, weight), one in zip(self.start.items(), self.factors.values(), strict=True)
        }


def trained(
    config: LowRankChange, network: nn.Module, train: Split, rank: int, seed: int
) -> Trained:
    """Momentum SGD at a constant rate until the error on all points is below the common one."""
    change = Change(network, rank, generator(seed, "low rank", rank))
    velocities = [torch.zeros_like(p) for p in change.parameters]
    draws = generator(seed, "low rank batches")
    epochs = 0
    # With thousands of points this takes minutes. Who tells of progress is stopped by a signal.
    told = Progress("low rank", config.epochs, shown=False)
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
        told.advance()
        weights = {name: w.detach() for name, w in change.weights().items()}
        if error(network, weights, train) < config.error:
            break
    return Trained(weights, epochs)


@torch.no_grad()
def outputs_of(network: nn.Module, weights: Weights, inputs: Tensor) -> Tensor:
    found: Tensor = functional_call(network, weights, (inputs,))
    return found[:, 0]


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
    found = average_features(end, start, inputs, points=config.points, compared=())
    return array(found.kernel.gram.double().numpy())


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
    other = copy.deepcopy(network)
    other.load_state_dict(weights)
    return other
