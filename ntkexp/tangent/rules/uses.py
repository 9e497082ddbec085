"""What the rules share: how a call's batch axis relates to the examples."""

from __future__ import annotations

from torch import Tensor

from ntkexp.tangent.calls import Call


class UnfitError(Exception):
    """This call does not have the shape the rule knows; the parameters take the fallback."""


def copies(call: Call, examples: int) -> int:
    """How many rows of the call's batch belong to one example.

    A model may fold time steps into the batch, (n, T, d) -> (nT, d). That the rows are then
    ordered example by example is assumed here and held against a true gradient in rehearsal.py.
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
