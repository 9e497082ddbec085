"""What a config knows of a network: options, what it takes and how large it is. Loads no
PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from ntkexp.components import Component

if TYPE_CHECKING:
    from torch import nn


class Init(StrEnum):
    """kaiming: normal weights (fan-in, ReLU gain), zero biases. default: PyTorch's own."""

    kaiming = "kaiming"
    default = "default"


class BatchNorm(StrEnum):
    """The mode of batch normalisation when a kernel is taken.

    eval: with running statistics, examples do not interact. train: with the statistics of the
    probe batch, whose kernel is that of the whole batch as one function, some 50 times dearer.
    """

    eval = "eval"
    train = "train"


@dataclass
class Model(Component):
    """The base of all networks.

    `build` is called with PyTorch's global generator lent to the run's stream "init"; the weights
    of linear and convolution layers are drawn anew by `init` afterwards (`ntkexp.models.build`).
    `size_key` is the option that a message names when the network does not fit into memory.
    """

    kind: ClassVar[str] = "model"
    size_key: ClassVar[str] = ""

    init: Init = Init.kaiming

    def refuse_inputs(self, inputs: tuple[int, ...]) -> None:
        """Refuse, in one line, inputs of a shape that the network does not take."""

    def couples_examples(self) -> bool:
        """Whether an example's output in training depends on the rest of its batch, as under batch
        normalisation."""
        return False

    def parameters(self, inputs: tuple[int, ...], outputs: int) -> int | None:
        """How many numbers training changes; None where that is not known without building it."""
        return None

    def multiplications(self, inputs: tuple[int, ...], outputs: int) -> int | None:
        """Those of the forward pass of one example; None where they are not known."""
        return None

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        """The network for inputs of a shape and a number of outputs."""
        raise NotImplementedError


def formatted_shape(shape: tuple[int, ...]) -> str:
    """A shape in words.

    >>> formatted_shape((3, 32, 32))
    '3x32x32'
    """
    return "x".join(map(str, shape))
