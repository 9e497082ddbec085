"""Per-example gradients by torch.func, of the parameters that no fast rule covers."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor
from torch.func import jacrev, vmap

from ntkexp.errors import UserError
from ntkexp.tangent.batch import Batch
from ntkexp.tangent.factors.factor import Direct
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.passes.reference import allowed, drawn, error, gradients, length

# Of the budget, for the gradients that vmap has under way at once.
SHARE = 1 / 16
# How often vmap holds them at once, on their way to the result.
UNDER_WAY = 4
# Examples that are compared with autograd at once: their graph stands beside everything else.
COMPARED = 8


def jacobians(
    function: NetworkFunction, batch: Batch, names: list[str], budget_bytes: int
) -> dict[str, Direct]:
    """d f_ic / d w for the named parameters only, (n, k, p) each.

    Exact for every way a parameter may be used; costs k backwards an example and n k p numbers.
    """
    if not names:
        return {}
    try:
        with warnings.catch_warnings():
            # An operation vmap runs one by one is slow, and still exact.
            warnings.filterwarnings("ignore", "There is a performance drop")
            found = _by_vmap(function, batch, names, budget_bytes)
    except (RuntimeError, UserError):
        # vmap cannot follow data-dependent control flow; plain autograd can, one by one.
        return _direct(_one_by_one(function, batch, names))
    return _corrected(function, batch, _direct(found))


def _direct(found: dict[str, Tensor]) -> dict[str, Direct]:
    return {
        name: Direct(values.detach().reshape(*values.shape[:2], -1))
        for name, values in found.items()
    }


def _corrected(
    function: NetworkFunction, batch: Batch, found: dict[str, Direct]
) -> dict[str, Direct]:
    """vmap's Jacobians, and autograd's own of the examples for which the two differ.

    vmap's derivative of some operations is wrong, in torch 2.13 that of `cdist`. One backward of
    a few examples tells whether there is anything to correct among them.
    """
    for start in range(0, len(batch), COMPARED):
        some = range(start, min(start + COMPARED, len(batch)))
        if _agree(function, batch, found, some):
            continue
        for example in some:
            one = range(example, example + 1)
            if not _agree(function, batch, found, one):
                part = batch[example : example + 1]
                for name, rows in _one_by_one(function, part, [*found]).items():
                    here = found[name].values[example : example + 1]
                    here.copy_(rows.view_as(here))
    return found


def _agree(function: NetworkFunction, batch: Batch, found: dict[str, Direct], some: range) -> bool:
    """Whether these examples' Jacobians give autograd's gradient of a random sum of outputs."""
    here = slice(some.start, some.stop)
    values = function(batch[here])
    cotangent = drawn(values)
    truth = gradients(values, {name: function.parameters[name] for name in found}, cotangent)
    size = length(truth.values())
    return all(
        error(factor.part(here), cotangent, truth[name]) <= allowed(truth[name], size)
        for name, factor in found.items()
    )


def _by_vmap(
    function: NetworkFunction, batch: Batch, names: list[str], budget_bytes: int
) -> dict[str, Tensor]:
    """A few examples at a time, so that beside the results no second copy of them is needed."""
    some = {name: function.parameters[name].detach() for name in names}
    gradients = vmap(jacrev(function.of_one_example), in_dims=(None, 0, 0))
    found: dict[str, Tensor] = {}
    done, step = 0, 1
    while done < len(batch):
        part = batch[done : done + step]
        rows = gradients(some, part.inputs, part.indices)
        for name, values in rows.items():
            if name not in found:
                found[name] = values.new_empty(len(batch), *values.shape[1:])
            found[name][done : done + step] = values
        done += step
        # The first example alone tells how much the others take.
        each = UNDER_WAY * sum(values[0].nbytes for values in rows.values())
        step = max(1, int(SHARE * budget_bytes) // max(1, each))
    return found


def _one_by_one(function: NetworkFunction, batch: Batch, names: list[str]) -> dict[str, Tensor]:
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
        name: torch.stack(grads).view(len(batch), -1, grads[0].numel())
        for name, grads in rows.items()
    }
