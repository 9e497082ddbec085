"""Per-example gradients by torch.func, of the parameters that have no rule."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.func import jacrev, vmap

from ntkexp.errors import UserError
from ntkexp.tangent.backwards import Truth, random_cotangent
from ntkexp.tangent.batch import Batch
from ntkexp.tangent.factors import Direct
from ntkexp.tangent.function import NetworkFunction

# The share of the budget for the gradients that vmap has under way at once.
SHARE = 1 / 16
# The copies of them that vmap holds at once, on their way to the result.
UNDER_WAY = 4
# Examples that are compared with autograd at once: their graph stands beside everything else.
COMPARED = 8


def jacobians(
    function: NetworkFunction, batch: Batch, names: Sequence[str], budget_bytes: int
) -> dict[str, Direct]:
    """d f_ic / d w for the named parameters only, (n, k, p) each.

    Exact for every way a parameter may be used; costs k backwards an example and n k p numbers.
    """
    try:
        with warnings.catch_warnings():
            # An operation vmap runs one by one is slow, and still exact.
            warnings.filterwarnings("ignore", "There is a performance drop")
            rows = _by_vmap(function, batch, names, budget_bytes)
    except (RuntimeError, UserError):
        # vmap cannot follow data-dependent control flow; plain autograd can, one by one.
        return _one_by_one(function, batch, names)
    # vmap's derivative of some operations is wrong, in torch 2.13 that of `cdist`.
    for start in range(0, len(batch), COMPARED):
        part = batch[start : start + COMPARED]
        values = function(part)
        cotangent = random_cotangent(values)
        truth = Truth(values, {name: function.parameters[name] for name in names}, cotangent)
        examples = slice(start, start + COMPARED)
        if not all(truth.agrees(name, row.part(examples), cotangent) for name, row in rows.items()):
            for name, by_autograd in _one_by_one(function, part, names).items():
                rows[name].values[examples] = by_autograd.values
    return rows


def _by_vmap(
    function: NetworkFunction, batch: Batch, names: Sequence[str], budget_bytes: int
) -> dict[str, Direct]:
    """A few examples at a time, so that beside the results no second copy of them is needed."""
    weights = {name: function.parameters[name].detach() for name in names}
    gradients = vmap(jacrev(function.of_one_example), in_dims=(None, 0, 0))
    whole: dict[str, Tensor] = {}
    done, step = 0, 1
    while done < len(batch):
        part = batch[done : done + step]
        rows = gradients(weights, part.inputs, part.indices)
        for name, values in rows.items():
            if name not in whole:
                size = (len(batch), values.shape[1], weights[name].numel())
                whole[name] = values.detach().new_empty(size)
            whole[name][done : done + step] = values.detach().reshape(*values.shape[:2], -1)
        done += step
        # The first example alone tells how much the others take.
        bytes_each = UNDER_WAY * sum(values[0].nbytes for values in rows.values())
        step = max(1, int(SHARE * budget_bytes) // max(1, bytes_each))
    return {name: Direct(values) for name, values in whole.items()}


def _one_by_one(function: NetworkFunction, batch: Batch, names: Sequence[str]) -> dict[str, Direct]:
    parameters = [function.parameters[name] for name in names]
    rows: dict[str, list[Tensor]] = {name: [] for name in names}
    for example in range(len(batch)):
        for output in function(batch[example : example + 1])[0]:
            grads = torch.autograd.grad(
                output, parameters, retain_graph=True, materialize_grads=True, allow_unused=True
            )
            for name, grad in zip(names, grads, strict=True):
                rows[name].append(grad.flatten())
    return {
        name: Direct(torch.stack(grads).view(len(batch), -1, grads[0].numel()))
        for name, grads in rows.items()
    }
