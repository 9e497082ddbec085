"""What an objective is to a config: a name, and the loss it makes of the data's targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ntkexp.components import Component
from ntkexp.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

    from ntkexp.objectives.losses import Loss


@dataclass
class Objective(Component):
    """The base of all objectives."""

    kind: ClassVar[str] = "objective"
    # The names in its loss's `metrics()`, where the class says them: then a wrong one is refused
    # before anything is loaded.
    measures: ClassVar[tuple[str, ...]] = ()

    def check(self, config: Any = None) -> None:
        # A class of one's own may build a loss with other metrics than those of its base.
        own = vars(type(self)).get("measures", ())
        for name in config.evaluate.metrics if config is not None and own else ():
            if name not in own:
                raise UserError(
                    f"evaluate.metrics={name}: not known; expected those of objective={self.name}: "
                    f"{', '.join(own)}"
                )

    def build(self, targets: Tensor, classes: int | None) -> Loss:
        """The loss for targets such as these, of so many classes; None is for numbers."""
        raise NotImplementedError

    def refuse_numbers(self, targets: Tensor, classes: int | None) -> int:
        """The number of classes; refused where the targets are numbers."""
        if targets.is_floating_point() or classes is None:
            raise UserError(
                f"objective={self.name}: takes classes, the data have numbers ({targets.dtype}); "
                "expected objective=squared_error"
            )
        return classes
