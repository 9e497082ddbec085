"""ResNet18 for small images (He et al. 2015, https://arxiv.org/abs/1512.03385).

ntkexp train +exp=resnet18_cifar10 model.norm=none
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from ntkexp.errors import UserError
from ntkexp.models.base import Model, formatted_shape
from ntkexp.options import count, option

if TYPE_CHECKING:
    from torch import nn


class Norm(StrEnum):
    """batch: batch normalisation. none: biases instead."""

    batch = "batch"
    none = "none"


@dataclass
class Resnet18(Model):
    """A 3x3 stem, no max pool, four stages of base * (1, 2, 4, 8) channels.

    `shortcut_bias: false` leaves out the biases that 1x1 shortcuts have without normalisation.
    """

    small: ClassVar = {"base": 8}
    size_key: ClassVar[str] = "base"

    base: int = option(64, count("channels"))
    norm: Norm = Norm.batch
    shortcut_bias: bool = True

    def refuse_inputs(self, inputs: tuple[int, ...]) -> None:
        if len(inputs) != 3:
            raise UserError(
                "model.name=resnet18: takes images, the data has inputs of "
                f"{formatted_shape(inputs)} numbers (take mlp)"
            )

    def couples_examples(self) -> bool:
        return self.norm is Norm.batch

    def parameters(self, inputs: tuple[int, ...], outputs: int) -> int:
        # Batch normalisation has a scale and a shift a channel, a convolution without it a bias.
        each = 2 if self.norm is Norm.batch else 1
        total, before = (9 * inputs[0] + each) * self.base, self.base
        for stage in range(4):
            after = self.base * 2**stage
            total += (9 * before + each) * after + 3 * (9 * after + each) * after
            total += (before + (each if self._shortcut_adds else 0)) * after if stage else 0
            before = after
        return total + (before + 1) * outputs

    @property
    def _shortcut_adds(self) -> bool:
        return self.norm is Norm.batch or self.shortcut_bias

    def multiplications(self, inputs: tuple[int, ...], outputs: int) -> int:
        side, before = inputs[-1], self.base
        total = 9 * inputs[0] * before * side**2
        for stage in range(4):
            after, halves = self.base * 2**stage, stage > 0
            side = -(-side // 2) if halves else side
            shortcut = before * after if halves else 0
            total += (9 * before * after + 3 * 9 * after**2 + shortcut) * side**2
            before = after
        return total + before * outputs

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        from ntkexp.models.networks.resnet import ResNet18

        return ResNet18(self, inputs, outputs)
