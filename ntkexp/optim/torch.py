"""Any optimiser of PyTorch, or of another package, by its name; learning-rate schedulers alike.

ntkexp train +exp=mlp_mnist optim=torch optim.of=AdamW 'optim.options={betas: [0.9, 0.95]}'
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from omegaconf import MISSING
from torch import Tensor, nn
from torch.optim.lr_scheduler import LRScheduler

from ntkexp.components import imported, not_made
from ntkexp.errors import UserError
from ntkexp.optim.base import Optimiser, Schedule
from ntkexp.optim.update import Number, WeightUpdate
from ntkexp.options import option

# The option of a class, and the module of those that have a short name.
HOMES = {"of": "torch.optim", "scheduler": "torch.optim.lr_scheduler"}
OPTIONS = {"of": "options", "scheduler": "scheduler_options"}


@dataclass
class Torch(Optimiser):
    """A scheduler sets the rate after every update, beginning at `lr`."""

    of: str = option(MISSING, about="a class of torch.optim, or another by its full name")
    options: dict[str, Any] = option({}, about="its arguments, beside the parameters and lr")
    scheduler: str | None = option(None, about="a class of torch.optim.lr_scheduler for the rate")
    scheduler_options: dict[str, Any] = option({}, about="the scheduler's arguments")

    def check(self, config: Any = None) -> None:
        super().check(config)
        if self.scheduler is not None and self.schedule is not Schedule.constant:
            raise UserError(
                f"optim.schedule={self.schedule}: optim.scheduler={self.scheduler} sets the rate; "
                "expected optim.schedule=constant beside it"
            )
        self.build([torch.zeros(2, 2, requires_grad=True)])

    def refuse(self, network: nn.Module) -> None:
        self.build(network.parameters())

    def build(self, parameters: Iterable[Tensor]) -> TorchUpdate:
        trained = [parameter for parameter in parameters if parameter.requires_grad]
        optimiser = _made("of", self.of, torch.optim.Optimizer, trained, self.options, lr=self.lr)
        scheduler = None
        if self.scheduler is not None:
            scheduler = _made(
                "scheduler", self.scheduler, LRScheduler, optimiser, self.scheduler_options
            )
        return TorchUpdate(trained, optimiser, scheduler)


def _made(
    option: str, name: str, base: type, first: Any, arguments: dict[str, Any], **ours: Any
) -> Any:
    """An optimiser or scheduler; what cannot be made or used is refused in one line."""
    key = f"optim.{option}={name}"
    kind = imported(key, name if "." in name else f"{HOMES[option]}.{name}")
    if not (isinstance(kind, type) and issubclass(kind, base)):
        raise UserError(f"{key}: is no {base.__name__}; expected a class that inherits from one")
    maker: Any = kind
    _, *parameters = inspect.signature(maker.step).parameters.values()
    if needed := [p.name for p in parameters if p.default is p.empty]:
        raise UserError(
            f"{key}: its step asks for {needed[0]}, which an update here has not; expected one "
            "whose step asks for nothing"
        )
    for twice in ours.keys() & arguments.keys():
        raise UserError(f"optim.options.{twice}: stands twice; expected optim.{twice} alone")
    try:
        return maker(first, **copy.deepcopy(arguments), **ours)
    except (TypeError, ValueError, RuntimeError, KeyError) as error:
        raise not_made(key, f"optim.{OPTIONS[option]}", error) from error


class TorchUpdate(WeightUpdate):
    """An optimiser of PyTorch. It changes the weights as it takes the gradients in, so their coming
    change cannot be seen, and it updates one network, no stack."""

    hides = frozenset({"updates"})
    stacks = False

    def __init__(
        self,
        parameters: Iterable[Tensor],
        optimiser: torch.optim.Optimizer,
        scheduler: LRScheduler | None,
    ) -> None:
        super().__init__(parameters)
        self.optimiser, self.scheduler = optimiser, scheduler
        self._gradients: list[Tensor] = []

    def rate(self, planned: float) -> float:
        return planned if self.scheduler is None else float(self.optimiser.param_groups[0]["lr"])

    def take(self, gradients: list[Tensor]) -> None:
        self._gradients = gradients

    def apply(self, lr: Number) -> None:
        (group,) = self.optimiser.param_groups
        scheduled = group["lr"]
        group["lr"] = lr
        for parameter, gradient in zip(self.parameters, self._gradients, strict=True):
            parameter.grad = gradient
        self.optimiser.step()
        self.optimiser.zero_grad()
        if self.scheduler is not None:
            # Some schedulers go on from the rate that they find.
            group["lr"] = scheduled
            self.scheduler.step()
        self.updates += 1

    def state(self) -> dict[str, Any]:
        scheduler = None if self.scheduler is None else self.scheduler.state_dict()
        states = {"optimiser": self.optimiser.state_dict(), "scheduler": scheduler}
        return {"updates": self.updates, **copy.deepcopy(states)}

    def restore(self, state: dict[str, Any]) -> None:
        self.updates = state["updates"]
        self.optimiser.load_state_dict(state["optimiser"])
        if self.scheduler is not None:
            self.scheduler.load_state_dict(state["scheduler"])
