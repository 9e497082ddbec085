"""What the rules share: how a call's batch axis relates to the examples, and room for gradients."""

from __future__ import annotations

from torch import Tensor

from ntkexp.tangent.memory.available import in_huge_pages
from ntkexp.tangent.passes.calls import Call


class UnfitError(Exception):
    """This call does not have the shape the rule knows; the parameters take the fallback."""


def copies(call: Call, examples: int) -> int:
    """How many rows of the call's batch belong to one example.

    A model may fold time steps into the batch, (n, T, d) -> (nT, d). That the rows are then
    ordered example by example is assumed here and compared with a true gradient in checked.py.
    """
    if not call.shape or call.shape[0] == 0 or call.shape[0] % examples:
        raise UnfitError
    if call.input.dim() == 0 or call.input.shape[0] != call.shape[0]:
        raise UnfitError
    return call.shape[0] // examples


def fold(values: Tensor, examples: int) -> Tensor:
    """(n T, ..., D) -> (n, ..., T D): the copies of an example become further positions."""
    times = values.shape[0] // examples
    if times == 1:
        return values
    apart = values.reshape(examples, times, *values.shape[1:])
    return apart.movedim(1, -2).flatten(-2)


class Received:
    """Output gradients side by side, (n, k, ...). A single one is kept as it comes, uncopied."""

    def __init__(self, shape: tuple[int, ...], like: Tensor) -> None:
        self.shape, self.like = shape, like
        self._values: Tensor | None = None

    def take(self, output: int, grad: Tensor) -> None:
        """Keep the gradient (n, ...) of one of the k outputs."""
        if self.shape[1] == 1:
            self._values = grad.unsqueeze(1)
        else:
            self.values[:, output] = grad

    def take_all(self, grads: Tensor) -> None:
        """(n, k, ...), in whatever order of memory."""
        self._values = grads.contiguous()

    @property
    def values(self) -> Tensor:
        if self._values is None:
            self._values = in_huge_pages(self.like.new_empty(self.shape))
        return self._values
