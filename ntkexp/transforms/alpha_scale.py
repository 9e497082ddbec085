"""The lazy and the hasty regime by one factor: f^alpha = f_0 + alpha (f - f_0).

ntkexp train +exp=mlp_mnist transform=alpha_scale transform.alpha=100

With the learning rate eta / alpha^2 the function moves alike for all alpha to first order, and the
weights 1 / alpha as far: for large alpha it is the linearised network (George's thesis, equation
(5.2.4); Chizat et al. 2019, https://arxiv.org/abs/1812.07956). f_0 are the outputs at the start.

The tangent kernel of f^alpha is alpha^2 times that of f, which probes see in eigenvalues and traces
and not in alignments; the column `lr` of the updates is eta / alpha^2, so that lr K compares.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from ntkexp.errors import UserError
from ntkexp.models.base import BatchNorm
from ntkexp.options import option, positive
from ntkexp.transforms.base import Transform, Transformed

if TYPE_CHECKING:
    from torch import nn

    from ntkexp.data import Split

LARGEST_ALPHA = 1e6


class Offset(StrEnum):
    """f0: the function starts where the network does. none: it starts at zero."""

    f0 = "f0"
    none = "none"


@dataclass
class AlphaScale(Transform):
    """f_0 + alpha (f - f_0) at the rate lr / alpha^2; `offset: none` leaves the first f_0 out.

    `batch_norm: eval` trains with batch normalisation's running statistics as they are at the
    start; those of a minibatch alpha would multiply, and they are refused.
    """

    hides: ClassVar = frozenset({"layers"})

    alpha: float = option(1.0, positive(LARGEST_ALPHA, least=0))
    offset: Offset = Offset.f0
    batch_norm: BatchNorm = BatchNorm.train

    def check(self, config: Any = None) -> None:
        refuse_batch_statistics(self.name, self.batch_norm, config)

    def build(self, network: nn.Module, train: Split) -> Transformed:
        from ntkexp.transforms.functions.alpha_scaled import AlphaScaled, OnTrainingSet
        from ntkexp.transforms.functions.of_network import (
            check_examples_independent,
            freeze_statistics,
        )

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


def refuse_batch_statistics(transform: str, batch_norm: BatchNorm, config: Any) -> None:
    """Before anything is loaded, as far as the model's options tell."""
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
