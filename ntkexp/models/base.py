"""The base of all networks: options, shapes of inputs, and size. Its import loads no PyTorch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from ntkexp.components import Component
from ntkexp.errors import UserError
from ntkexp.options import option

if TYPE_CHECKING:
    from torch import nn


class Init(StrEnum):
    """kaiming: normal weights (fan-in, ReLU gain), zero biases. lecun: normal weights of variance
    1 / fan_in, zero biases. residual: kaiming, for residual networks without norms. default:
    PyTorch's own."""

    kaiming = "kaiming"
    lecun = "lecun"
    residual = "residual"
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
    `size_key` is the option that makes the network wider: a message names it when the network does
    not fit into memory. `least_side` is the least side of an image, for one that takes images.
    """

    kind: ClassVar[str] = "model"
    size_key: ClassVar[str] = ""
    least_side: ClassVar[int] = 0

    init: Init = option(Init.kaiming, about="how weights are drawn; default is PyTorch's way")

    def refuse_inputs(self, inputs: tuple[int, ...]) -> None:
        """Refuse, in one line, inputs of a shape that the network does not take."""
        least = self.least_side
        if least and (len(inputs) != 3 or min(inputs[1:]) < least):
            raise UserError(
                f"model.name={self.name}: takes images of {least}x{least} and more, the data has "
                f"inputs of {formatted_shape(inputs)} (model=mlp takes any)"
            )

    def couples_examples(self) -> bool:
        """True if an example's output in training depends on the rest of its batch, as under batch
        normalisation."""
        return False

    def parameters(self, inputs: tuple[int, ...], outputs: int) -> int | None:
        """The number of its weights; None where the network cannot be built unseen."""
        network = self.unseen(inputs, outputs)
        if network is None:
            return None
        return sum(weight.numel() for weight in network.parameters())

    def multiplications(self, inputs: tuple[int, ...], outputs: int) -> int | None:
        """The multiplications of the forward pass of one example, those of its linear and
        convolution layers; None without `size_key`.

        A layer uses each of its weights once for each position of its output. The narrowest network
        has the same positions, so it is run, and the weights are counted unseen.
        """
        import torch
        from torch import Tensor, nn

        network = self.unseen(inputs, outputs)
        if network is None or not self.size_key:
            return None
        total = 0
        least: dict[str, Any] = {self.size_key: 1}
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            narrow = replace(self, **least).build(inputs, outputs).eval()
            for name, layer in narrow.named_modules():
                if isinstance(layer, nn.Linear | nn.Conv2d):
                    weights = network.get_parameter(f"{name}.weight").numel()

                    def count(_: nn.Module, __: Any, out: Tensor, weights: int = weights) -> None:
                        nonlocal total
                        total += weights * out[0, 0].numel()

                    layer.register_forward_hook(count)
            narrow(torch.zeros(1, *inputs))
        return total

    def unseen(self, inputs: tuple[int, ...], outputs: int) -> nn.Module | None:
        """The network with the shapes of its weights and without their numbers, on PyTorch's device
        "meta", in milliseconds; None for one of your own that cannot be built there."""
        import torch

        try:
            with torch.device("meta"):
                return self.build(inputs, outputs)
        except UserError:
            raise
        except Exception:  # whatever it is, the network itself has it, too, or can do without
            return None

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        """The network for inputs of a shape and a number of outputs."""
        raise self.lacks("build(inputs, outputs)")


def formatted_shape(shape: tuple[int, ...]) -> str:
    """A shape in words.

    >>> formatted_shape((3, 32, 32))
    '3x32x32'
    """
    return "x".join(map(str, shape))
