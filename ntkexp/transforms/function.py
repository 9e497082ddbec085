"""The base of functions made of a network, whose weights keep the names that the network has."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from ntkexp.errors import UserError
from ntkexp.models.drawing import drawing_layers


class OfNetwork(nn.Module):
    """A function of a network: `network` is trained, `start` is a frozen copy of it.

    Only the weights of `network` are saved, as if there were nothing around it. The copy needs no
    saving: the config's initialisation gives it again in every life of a run.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        # In a tuple: as a module's attribute its weights would be among the module's.
        self._start = (copy.deepcopy(network).eval().requires_grad_(False),)

    @property
    def start(self) -> nn.Module:
        return self._start[0]

    def state_dict(self, *args: Any, **options: Any) -> dict[str, Any]:  # type: ignore[override]
        return self.network.state_dict(*args, **options)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        return self.network.load_state_dict(state_dict, strict, assign)


def freeze_statistics(network: nn.Module) -> None:
    """Batch normalisation in eval mode from now on: its running statistics stay as they are."""
    for module in network.modules():
        if isinstance(module, _BatchNorm):
            module.eval()


def check_examples_independent(network: nn.Module, transform: str) -> None:
    """Refuse layers that make an example's output depend on its batch, or on chance."""
    for name, module in network.named_modules():
        if isinstance(module, _BatchNorm) and (module.training or module.running_mean is None):
            raise UserError(
                f"transform={transform}: layer {name} normalises by the statistics of its "
                "minibatch, which are no function of the weights alone; expected "
                "transform.batch_norm=eval, or a network without, such as model.norm=none"
            )
    for name in drawing_layers(network):
        raise UserError(f"transform={transform}: layer {name} draws at random; leave it out")
