"""A transform makes another function of a network, and that is trained in its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ntkexp.components import Component

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ntkexp.data import Dataset, Split


@dataclass(frozen=True)
class Transformed:
    """A function that is trained in place of a network.

    Args:
        module: the function that is trained; the optimiser changes its parameters.
        rate: a factor of the config's learning rate.
        kernel: the module whose tangent kernel, times `kernel_factor`, the function has; None is
            `module` itself.
        on_training_set: a quicker way to `module(inputs)` for the training examples of given
            numbers, (inputs, numbers) -> outputs. It is not taken where inputs are augmented.
    """

    module: nn.Module
    rate: float = 1.0
    kernel: nn.Module | None = None
    on_training_set: Callable[[Tensor, Tensor], Tensor] | None = None
    kernel_factor: float = 1.0


@dataclass
class Transform(Component):
    """The base of all transforms; `hides` names what probes cannot see of the function it makes.

    A function that is `linear` in its weights has one kernel, and may be trained by it
    (ntkexp/training/function_space/routes.py).
    """

    kind: ClassVar[str] = "transform"
    hides: ClassVar[frozenset[str]] = frozenset()
    linear: ClassVar[bool] = False

    def build(self, network: nn.Module, train: Split) -> Transformed:
        """The function that is trained in place of `network`, at the first step, on `train`."""
        raise self.lacks("build(network, train)")

    def why_alone(self, dataset: Dataset) -> str:
        """Why such a function, trained by gradients that go back through it, cannot be in a stack
        of many networks; "" if it can."""
        return ""
