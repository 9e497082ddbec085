"""An objective is a loss that a network is trained to lower, and says which answers are right.

Outputs are (n, c), and targets (n,) or (n, c). A loss may also have `metrics()`: functions of a
whole set, by name (ntkexp/objectives/metrics.py), which are written where `evaluate.metrics` asks
for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ntkexp.components import Component
from ntkexp.errors import UserError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from ntkexp.data.dataset import Dataset


class Loss(Protocol):
    """A loss per example; `outputs` is how many numbers a network gives for one."""

    @property
    def outputs(self) -> int: ...

    def losses(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """(n,): the loss of each example."""

    def losses_and_slopes(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """The losses and d loss / d outputs, without a graph, for any number of leading sizes."""

    def correct(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """(n,): true where a decision is right; not a number where nothing is decided."""

    def sample(self, outputs: Tensor, generator: torch.Generator) -> Tensor:
        """Targets drawn from the distribution whose negative log-likelihood the loss is."""

    def roots(self, outputs: Tensor) -> Iterator[Tensor]:
        """Slopes (n, c) whose squares r r^T add up to the mean of those of all targets, each as
        likely as in `sample`: the Fisher matrix by the outputs."""

    def label_matrix(self, targets: Tensor) -> Tensor:
        """(n, c): the labels as numbers, for alignment with a kernel."""


@dataclass
class Objective(Component):
    """The base of all objectives."""

    kind: ClassVar[str] = "objective"
    # The names in its loss's `metrics()`, where the class says them: then a wrong one is refused
    # before anything is loaded.
    measures: ClassVar[tuple[str, ...]] = ()

    def check(self, config: Any = None) -> None:
        # A subclass may build a loss with other metrics than those of its base.
        metrics = vars(type(self)).get("measures", ())
        for name in config.evaluate.metrics if config is not None and metrics else ():
            if name not in metrics:
                raise UserError(
                    f"evaluate.metrics={name}: not known; expected those of objective={self.name}: "
                    f"{', '.join(metrics)}"
                )

    def outputs(self, inputs: tuple[int, ...], usual: int) -> int:
        """The outputs of a network for inputs of this shape, where data usually ask for `usual`."""
        return usual

    def seen(self, dataset: Dataset) -> Dataset:
        """The data with the targets that are trained on, where these are not the labels."""
        return dataset

    def build(self, targets: Tensor, classes: int | None) -> Loss:
        """The loss for targets such as these, of so many classes; None where they are numbers."""
        raise self.lacks("build(targets, classes)")

    def refuse_numbers(self, targets: Tensor, classes: int | None) -> int:
        """The number of classes; refused where targets are numbers, or labels of other classes."""
        if targets.is_floating_point() or classes is None:
            raise UserError(
                f"objective={self.name}: takes classes, the data have numbers ({targets.dtype}); "
                "expected whole numbers, or objective=squared_error"
            )
        least, most = int(targets.min()), int(targets.max())
        if targets.ndim != 1 or least < 0 or most >= classes:
            raise UserError(
                f"objective={self.name}: the labels have shape {tuple(targets.shape)} and go from "
                f"{least} to {most}; expected one for each example, from 0 to {classes - 1}"
            )
        return classes
