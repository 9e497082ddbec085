"""Any network by the full name of the class or function that makes it.

ntkexp train +exp=resnet18_cifar10 model=torch model.of=torchvision.models.resnet18 \
    'model.options={num_classes: 10}'
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from omegaconf import MISSING
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from ntkexp.components import imported, not_made
from ntkexp.data.images.torchvision import torchvision_datasets
from ntkexp.errors import UserError, first_line
from ntkexp.models.base import Init, Model, formatted_shape
from ntkexp.options import option
from ntkexp.tangent.function import FAILURES


@dataclass
class Torch(Model):
    """`of` is imported when the run is made. `init: kaiming` draws the weights of linear and
    convolution layers anew."""

    init: Init = option(Init.default, about="as the network draws or loads them, or drawn anew")
    of: str = option(MISSING, about="the full name of a class or function that gives the network")
    options: dict[str, Any] = option({}, about="its arguments")

    def check(self, config: Any = None) -> None:
        """Refuse, in one line, what cannot be imported."""
        self._maker()

    def couples_examples(self) -> bool:
        try:
            with torch.device("meta"):
                network = self._made()
        except RuntimeError:  # what cannot be built there; the check by kernels tells then
            return False
        return any(isinstance(module, _BatchNorm) for module in network.modules())

    def build(self, inputs: tuple[int, ...], outputs: int) -> nn.Module:
        network = self._made()
        self._refuse_shapes(network, inputs, outputs)
        if not any(weight.requires_grad for weight in network.parameters()):
            raise UserError(f"model.of={self.of}: has no weights that train")
        return network

    def _maker(self) -> Any:
        if self.of.startswith("torchvision."):
            torchvision_datasets()  # imports it even where its compiled part does not fit torch
        maker = imported(f"model.of={self.of}", self.of)
        if isinstance(maker, nn.Module):
            raise UserError(
                f"model.of={self.of}: is a network already, which one run would hand to the next; "
                "expected the class, or a function that makes it: def net(): return ..."
            )
        return maker

    def _made(self) -> nn.Module:
        key = f"model.of={self.of}"
        try:
            network = self._maker()(**copy.deepcopy(self.options))
        except (TypeError, ValueError, KeyError, AssertionError, RuntimeError) as error:
            if torch.get_default_device().type == "meta" and (
                isinstance(error, RuntimeError) or "meta device" in str(error)
            ):  # it asks for numbers, which weights have elsewhere: NumPy's TypeError, too
                raise NotImplementedError(str(error)) from error
            raise not_made(key, "model.options", error) from error
        if not isinstance(network, nn.Module):
            raise UserError(
                f"{key}: gives a {type(network).__name__}; expected a class or function that gives "
                "a torch.nn.Module"
            )
        return network

    def _refuse_shapes(self, network: nn.Module, inputs: tuple[int, ...], outputs: int) -> None:
        """Refuse, in one line, a network that does not take the data or gives other outputs."""
        device = next((part.device for part in network.parameters()), torch.device("cpu"))
        modes = [(module, module.training) for module in network.modules()]
        running: list[nn.Module] = []

        def begins(module: nn.Module, _: Any) -> None:
            running.append(module)

        def ends(*_: Any) -> None:
            running.pop()

        try:
            with (
                torch.no_grad(),
                register_module_forward_pre_hook(begins),
                register_module_forward_hook(ends),
            ):
                output = network.eval()(torch.zeros(2, *inputs, device=device))
        except NotImplementedError:  # on "meta", what only some networks can do
            raise
        except FAILURES as error:
            names = {module: name for name, module in network.named_modules()}
            layer = running[-1] if running else network
            place = f"{names[layer]}, {layer}: " if names.get(layer) else ""
            raise UserError(
                f"model.of={self.of}: does not take inputs of {formatted_shape(inputs)} "
                f"({place}{first_line(error)})"
            ) from error
        for module, mode in modes:
            module.training = mode
        shape = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
        if shape != (2, outputs):
            raise UserError(
                f"model.of={self.of}: gives {shape} for 2 examples; the objective takes "
                f"{(2, outputs)}: see model.options"
            )
