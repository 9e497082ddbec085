"""The lazy and the hasty regime by one factor: f^alpha = f_0 + alpha (f - f_0).

ntkexp train +exp=mlp_mnist transform=alpha_scale transform.alpha=100

With the learning rate eta / alpha^2 the function moves alike for all alpha to first order, and the
weights 1 / alpha as far: for large alpha it is the linearised network (George's thesis, equation
(5.2.4); Chizat et al. 2019, https://arxiv.org/abs/1812.07956). f_0 are the outputs at the start.

The tangent kernel of f^alpha is alpha^2 times that of f, which probes see in eigenvalues and traces
and not in alignments; the column `lr` of the updates is eta / alpha^2, so that lr K compares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ntkexp.data.dataset import Dataset, Split
from ntkexp.errors import UserError
from ntkexp.models.base import BatchNorm
from ntkexp.objectives.evaluate import outputs_of
from ntkexp.options import option, positive
from ntkexp.transforms.base import Transform, Transformed
from ntkexp.transforms.function import (
    OfNetwork,
    check_examples_independent,
    freeze_statistics,
)

LARGEST_ALPHA = 1e6


class Offset(StrEnum):
    """f0: the function starts where the network does. none: it starts at zero."""

    f0 = "f0"
    none = "none"


@dataclass
class AlphaScale(Transform):
    """f_0 + alpha (f - f_0) at the rate lr / alpha^2.

    `batch_norm: eval` trains with batch normalisation's running statistics as they are at the
    start; those of a minibatch alpha would multiply, and they are refused.
    """

    hides: ClassVar = frozenset({"layers"})

    alpha: float = option(1.0, positive(LARGEST_ALPHA), "of all change; large is lazy")
    offset: Offset = option(Offset.f0, about="begins at the network's outputs (f0) or at 0")
    batch_norm: BatchNorm = option(BatchNorm.train, about="of minibatches, or running (eval)")

    def check(self, config: Any = None) -> None:
        refuse_batch_statistics(self.name, self.batch_norm, config)

    def build(self, network: nn.Module, train: Split) -> Transformed:
        if self.batch_norm is BatchNorm.eval:
            freeze_statistics(network)
        check_examples_independent(network, self.name)
        module = AlphaScaled(network, self.alpha, keeps_start=self.offset is Offset.f0)
        return Transformed(
            module,
            rate=1 / self.alpha**2,
            kernel=network,
            kernel_factor=self.alpha**2,
            on_training_set=OnTrainingSet(module, train.inputs),
        )

    def why_alone(self, dataset: Dataset) -> str:
        if dataset.sees_examples_as_they_are:
            return ""
        return (
            "knows the first outputs of examples as they are; expected data without a stream and "
            "data.augment=none"
        )


def refuse_batch_statistics(transform: str, batch_norm: BatchNorm, config: Any) -> None:
    """Refuse statistics of minibatches as far as the options tell, before anything is loaded."""
    if batch_norm is BatchNorm.train and config.model.couples_examples():
        raise UserError(
            f"transform.batch_norm=train: transform={transform} takes no statistics of minibatches "
            f"and model={config.model.name} has batch normalisation; expected "
            "transform.batch_norm=eval or model.norm=none"
        )
    if batch_norm is BatchNorm.eval and config.probing.batch_norm is BatchNorm.train:
        raise UserError(
            "probing.batch_norm=train: the function is trained with running statistics "
            "(transform.batch_norm=eval); expected probing.batch_norm=eval"
        )


def scaled(outputs: Tensor, start: Tensor, alpha: float, *, keeps_start: bool) -> Tensor:
    """f_0 + alpha (f - f_0), or without the first f_0; in this order, f - f_0 loses no digit."""
    change = outputs - start
    return torch.add(start, change, alpha=alpha) if keeps_start else alpha * change


class AlphaScaled(OfNetwork):
    """The alpha-scaled function of a network; f_0 is computed anew by the frozen copy.

    For alpha = 1 with f_0 kept it is the network, bit for bit.
    """

    def __init__(self, network: nn.Module, alpha: float, *, keeps_start: bool) -> None:
        super().__init__(network)
        self.alpha, self.keeps_start = alpha, keeps_start
        self.plain = alpha == 1 and keeps_start

    def forward(self, inputs: Tensor) -> Tensor:
        outputs: Tensor = self.network(inputs)
        if self.plain:
            return outputs
        with torch.no_grad():
            start = self.start(inputs)
        return scaled(outputs, start, self.alpha, keeps_start=self.keeps_start)


class OnTrainingSet:
    """The alpha-scaled function for training examples of given numbers: their f_0 is computed once.

    This happens at the first update and not before: by then the process has the threads of the
    run, on whose number the last digits depend.
    """

    def __init__(self, module: AlphaScaled, inputs: Tensor) -> None:
        self.module, self._inputs = module, inputs

    @cached_property
    def start(self) -> Tensor:
        """(n, c): f_0 of every training example."""
        return outputs_of(self.module.start, self._inputs)

    def __call__(self, inputs: Tensor, numbers: Tensor) -> Tensor:
        module = self.module
        outputs: Tensor = module.network(inputs)
        if module.plain:
            return outputs
        start = self.start.index_select(0, numbers)
        return scaled(outputs, start, module.alpha, keeps_start=module.keeps_start)


@dataclass(frozen=True)
class Head:
    """Turns outputs f (M, b, c) of M networks on minibatches into f^alpha; alpha (M, 1, 1)."""

    start: Tensor  # (M, b, c)
    alpha: Tensor
    keeps_start: Tensor  # (M, 1, 1): 1 where f_0 is kept, else 0

    def __call__(self, outputs: Tensor) -> Tensor:
        return self.keeps_start * self.start + self.alpha * (outputs - self.start)


class Heads:
    """The heads of M networks that train in step."""

    def __init__(self, sets: Sequence[OnTrainingSet]) -> None:
        self._start = torch.stack([on_set.start for on_set in sets])
        like = self._start

        def column(values: list[float]) -> Tensor:
            return torch.tensor(values, dtype=like.dtype, device=like.device).view(-1, 1, 1)

        self._alpha = column([on_set.module.alpha for on_set in sets])
        self._keeps_start = column([float(on_set.module.keeps_start) for on_set in sets])

    def at(self, numbers: Tensor) -> Head:
        """The head for the training examples `numbers` (M, b)."""
        places = numbers.unsqueeze(2).expand(*numbers.shape, self._start.shape[2])
        return Head(self._start.gather(1, places), self._alpha, self._keeps_start)
