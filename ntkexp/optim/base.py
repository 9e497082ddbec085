"""The options of all optimisers: the rate, the batches, and when training is over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from ntkexp.components import Component
from ntkexp.errors import UserError
from ntkexp.options import count, option, positive

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ntkexp.objectives.base import Loss
    from ntkexp.optim.update import WeightUpdate


class Schedule(StrEnum):
    constant = "constant"
    cosine = "cosine"
    linear = "linear"


class Precision(StrEnum):
    """bf16: the forward of an update and the way back are under torch.autocast. Weights, losses,
    the optimiser, evaluation and probes are in float32 all the same."""

    float32 = "float32"
    bf16 = "bf16"


@dataclass
class Optimiser(Component):
    """The base of all optimisers."""

    kind: ClassVar[str] = "optim"
    small: ClassVar = {"steps": 1000}
    tiny: ClassVar = {"steps": 2}

    lr: float = option(0.01, positive(), "learning rate")
    batch_size: int | None = option(100, count("examples", null="for the full batch"), "of a step")
    schedule: Schedule = option(Schedule.constant, about="the rate: constant, or falling to 0")
    precision: Precision = option(
        Precision.float32, about="of updates: float32, or bf16 (autocast)"
    )
    epochs: int | None = option(None, count("epochs", null=""), "passes over the training examples")
    steps: int | None = option(None, count("steps", null=""), "updates")
    stop_loss: float | None = option(0.01, positive(null="to train to the limit"), "loss to reach")
    stop_patience: int = option(2, count("evaluations"), "evaluations in a row that find it below")
    stop_after_losses: bool = option(False, about="training ends below the last of probing.losses")
    drop_last: bool = option(False, about="an epoch's last batch is left out if it is smaller")

    def check(self, config: Any = None) -> None:
        if self.epochs is None and self.steps is None:
            nameless = getattr(config, "name", "") == "adhoc"
            way_out = ", or an experiment, +exp=NAME (see ntkexp list)" if nameless else ""
            raise UserError(
                f"optim.epochs and optim.steps are both null: give one of them{way_out}"
            )
        if self.stop_after_losses and config is not None and not config.probing.losses:
            raise UserError(
                "optim.stop_after_losses=true: probing.losses=[] names none; expected "
                "probing.losses=[0.5,...]"
            )
        if self.precision is Precision.bf16 and config is not None:
            self._refuse_half(config)

    def _refuse_half(self, config: Any) -> None:
        """Refuse what would compute with the half precision of an update."""
        if config.transform.name != "plain":
            raise UserError(
                f"optim.precision=bf16: transform={config.transform.name} trains in float32; "
                "expected float32, or transform=plain"
            )
        for name, probe in config.probe.items():
            if probe.sees_forward():
                raise UserError(
                    f"optim.precision=bf16: probe.{name} looks at the forward of each minibatch, "
                    "in float32; expected float32, or probe.complexity.batch=fixed"
                )

    def refuse(self, network: nn.Module) -> None:
        """Refuse, in one line, a network that it cannot train. Asked before anything is loaded or
        written, of the network on PyTorch's device "meta" (shapes without numbers) where it can be
        built there."""

    def build_for(self, network: nn.Module, objective: Loss) -> WeightUpdate:
        """The weight update of a network that is trained on this objective."""
        return self.build(network.parameters())

    def build(self, parameters: Iterable[Tensor]) -> WeightUpdate:
        """The weight update of these parameters, before the first update. Where it cannot go on it
        raises ntkexp.errors.Diverged: the run then counts as diverged, not as broken."""
        raise self.lacks("build(parameters)")
