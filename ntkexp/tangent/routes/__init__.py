"""Ways to multiply the features of one layer, one file each, and their costs."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor

from ntkexp.tangent.factors.factor import Outer
from ntkexp.tangent.memory.available import Workspace
from ntkexp.tangent.routes.jacobians import Jacobians
from ntkexp.tangent.routes.pairs import Pairs
from ntkexp.tangent.routes.shape import Cost, Shape
from ntkexp.tangent.routes.structured import Structured


class Route(Protocol):
    """Adds the Gram matrix of a layer's features to `gram`, (n_left k, n_right k).

    With `right` None it is the symmetric matrix of `left`.
    """

    name: str

    @staticmethod
    def halves(shape: Shape) -> bool:
        """Whether only the part on and below the diagonal will be right: the caller mirrors it."""

    @staticmethod
    def cost(shape: Shape) -> Cost:
        """What it costs."""

    @staticmethod
    def add(gram: Tensor, left: Outer, right: Outer | None, workspace: Workspace) -> None:
        """Do it, with temporary tensors of about the workspace's limit."""


ROUTES: tuple[type[Route], ...] = (Jacobians, Structured, Pairs)

__all__ = ["ROUTES", "Cost", "Jacobians", "Pairs", "Route", "Shape", "Structured"]
