"""ResNet18 for small images (He et al. 2015, https://arxiv.org/abs/1512.03385).

ntkexp train +exp=resnet18_cifar10 model.norm=none

ResNet20 and ResNet34, in files of their own, have other stages of the same blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.models.activations import MODULES, Activation
from ntkexp.models.base import Model
from ntkexp.options import count, option


class Norm(StrEnum):
    """batch: batch normalisation. group: group normalisation, 16 channels a group (Wu and He 2018,
    https://arxiv.org/abs/1803.08494), by which examples do not interact. none: biases instead."""

    batch = "batch"
    group = "group"
    none = "none"


class ResidualScale(StrEnum):
    """The first scale of a block's last norm. zero: the block begins as its shortcut alone (Goyal
    et al. 2017, https://arxiv.org/abs/1706.02677)."""

    one = "one"
    zero = "zero"


@dataclass
class Resnet18(Model):
    """A 3x3 stem, no max pool, four stages of base * (1, 2, 4, 8) channels.

    `shortcut_bias: false` leaves out the biases that 1x1 shortcuts have without normalisation.
    With `residual_scale: zero` the weights of the residual branches have no gradient at first.
    """

    small: ClassVar = {"base": 8}
    tiny: ClassVar = {"base": 2}
    size_key: ClassVar[str] = "base"
    least_side: ClassVar[int] = 1
    stages: ClassVar[tuple[int, ...]] = (1, 2, 4, 8)  # channels, over base
    blocks: ClassVar[tuple[int, ...]] = (2, 2, 2, 2)  # of the stages

    base: int = option(64, count("channels"), "channels of the first stage")
    norm: Norm = option(Norm.batch, about="batch or group normalisation, or biases instead")
    shortcut_bias: bool = option(True, about="1x1 shortcuts have biases, with norm=none")
    activation: Activation = option(Activation.relu, about="what follows a layer, and a block")
    residual_scale: ResidualScale = option(
        ResidualScale.one, about="first scale of the last norm of a block, one or zero"
    )

    def check(self, config: Any = None) -> None:
        if self.norm is Norm.none and self.residual_scale is ResidualScale.zero:
            raise UserError(
                "model.residual_scale=zero: is the scale of a norm, and model.norm=none has none; "
                "expected one"
            )

    def couples_examples(self) -> bool:
        return self.norm is Norm.batch

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        return ResNet(self, inputs, outputs)


# Below so many input channels oneDNN writes past its workspace in the weight gradient of a strided
# 1x1 convolution, if images lie channels last: wrong numbers or a crash (oneDNN issue 6035,
# seen with PyTorch 2.13 on AVX2).
LEAST_CHANNELS_LAST = 8


class Block(nn.Module):
    """relu(shortcut(x) + norm(conv(relu(norm(conv(x)))))), the basic block.

    The shortcut is the identity, or a 1x1 convolution where channels or resolution change.
    """

    def __init__(
        self,
        channels_in: int,
        channels: int,
        stride: int,
        norm: Norm,
        shortcut_bias: bool = True,
        activation: Activation = Activation.relu,
    ) -> None:
        super().__init__()
        self.conv1 = _convolution(channels_in, channels, 3, stride, norm)
        self.norm1 = _norm(channels, norm)
        self.relu1 = MODULES[activation]()
        self.conv2 = _convolution(channels, channels, 3, 1, norm)
        self.norm2 = _norm(channels, norm)
        self.shortcut: nn.Module = nn.Identity()
        self.shortcut_norm: nn.Module = nn.Identity()
        if stride != 1 or channels_in != channels:
            biased = norm is Norm.none and shortcut_bias
            self.shortcut = nn.Conv2d(channels_in, channels, 1, stride, bias=biased)
            self.shortcut_norm = _norm(channels, norm)
        self.relu2 = MODULES[activation]()

    def forward(self, x: Tensor) -> Tensor:
        residual: Tensor = self.norm1(self.conv1(x))
        residual = self.norm2(self.conv2(self.relu1(residual)))
        if x.shape[1] < LEAST_CHANNELS_LAST:
            # A clone: one channel alone counts as contiguous however it lies.
            x = x.clone(memory_format=torch.contiguous_format)
        out: Tensor = self.relu2(self.shortcut_norm(self.shortcut(x)) + residual)
        return out


class ResNet(nn.Module):
    """A 3x3 stem without max pool, stages of blocks, each but the first of twice the channels and
    half the side, the average over positions, and one linear layer. 32x32 and 28x28 images alike.

    `norm: batch` or `group` has one after every convolution, which then needs no bias;
    `norm: none` has biases instead. Every block then adds to the variance of what it passes on:
    with Kaiming weights the scores start at a standard deviation near 10, and learning rates that
    suit batch normalisation are too large.

    >>> ResNet(Resnet18(base=2), (3, 32, 32), 10).stage2.block1.shortcut.stride
    (2, 2)
    """

    def __init__(self, config: Resnet18, input_shape: tuple[int, ...], outputs: int) -> None:
        super().__init__()
        base, norm = config.base, config.norm
        self.conv1 = _convolution(input_shape[0], base, 3, 1, norm)
        self.norm1 = _norm(base, norm)
        self.relu1 = MODULES[config.activation]()
        channels = base
        stages = zip(config.stages, config.blocks, strict=True)
        for number, (wider, blocks) in enumerate(stages, 1):
            stride = 1 if number == 1 else 2
            stage = _stage(channels, wider * base, stride, blocks, config)
            self.add_module(f"stage{number}", stage)
            channels = wider * base
        self.stages = len(config.stages)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.fc = nn.Linear(channels, outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = self.relu1(self.norm1(self.conv1(x)))
        for number in range(1, self.stages + 1):
            x = self.get_submodule(f"stage{number}")(x)
        out: Tensor = self.fc(self.flatten(self.pool(x)))
        return out


def _convolution(channels_in: int, channels: int, size: int, stride: int, norm: Norm) -> nn.Conv2d:
    return nn.Conv2d(channels_in, channels, size, stride, padding=size // 2, bias=norm is Norm.none)


def _norm(channels: int, norm: Norm) -> nn.Module:
    if norm is Norm.group:
        return nn.GroupNorm(math.gcd(channels, channels // 16 or 1), channels)
    return nn.BatchNorm2d(channels) if norm is Norm.batch else nn.Identity()


def _stage(
    channels_in: int, channels: int, stride: int, blocks: int, config: Resnet18
) -> nn.Sequential:
    stage = nn.Sequential()
    for index in range(1, blocks + 1):
        block = Block(
            channels_in, channels, stride, config.norm, config.shortcut_bias, config.activation
        )
        if config.residual_scale is ResidualScale.zero:
            nn.init.zeros_(block.get_parameter("norm2.weight"))
        stage.add_module(f"block{index}", block)
        channels_in, stride = channels, 1
    return stage
