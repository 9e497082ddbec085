"""Per-example Jacobians by torch.func, for parameters no fast rule covers."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap

from ntkexp.tangent.factors import Direct
from ntkexp.tangent.memory import default_budget
from ntkexp.tangent.outputs import Outputs, chosen

# Of the budget, for the gradients that vmap has under way at once.
SHARE = 1 / 16


def jacobians(
    model: nn.Module, inputs: Tensor, outputs: Outputs, names: list[str]
) -> dict[str, Direct]:
    """d f_ic / d w for the named parameters only, (n, k, p) each.

    Exact for every way a parameter may be used; costs k backwards an example and n k p numbers.
    """
    if not names:
        return {}
    parameters = dict(model.named_parameters())
    try:
        with warnings.catch_warnings():
            # An operation vmap runs one by one is slow, and still exact.
            warnings.filterwarnings("ignore", "There is a performance drop")
            found = _by_vmap(model, inputs, outputs, {name: parameters[name] for name in names})
    except RuntimeError:
        # vmap cannot follow data-dependent control flow; plain autograd can, one by one.
        found = _one_by_one(model, inputs, outputs, [parameters[name] for name in names], names)
    return {
        name: Direct(values.detach().reshape(*values.shape[:2], -1))
        for name, values in found.items()
    }


def _by_vmap(
    model: nn.Module, inputs: Tensor, outputs: Outputs, parameters: dict[str, nn.Parameter]
) -> dict[str, Tensor]:
    """A few examples at a time, so that beside the results no second copy of them is needed."""
    some = {name: parameter.detach() for name, parameter in parameters.items()}
    gradients = vmap(jacrev(_one_example(model, outputs)), in_dims=(None, 0))
    found: dict[str, Tensor] = {}
    done, step = 0, 1
    while done < len(inputs):
        rows = gradients(some, inputs[done : done + step])
        for name, values in rows.items():
            if name not in found:
                found[name] = values.new_empty(len(inputs), *values.shape[1:])
            found[name][done : done + step] = values
        done += step
        # The first example alone tells how much the others take.
        each = sum(values[0].nbytes for values in rows.values())
        step = max(1, int(SHARE * default_budget(inputs.device)) // max(1, each))
    return found


def _one_example(
    model: nn.Module, outputs: Outputs
) -> Callable[[dict[str, Tensor], Tensor], Tensor]:
    def of_parameters(parameters: dict[str, Tensor], example: Tensor) -> Tensor:
        raw = functional_call(model, parameters, (example.unsqueeze(0),))
        return select(raw, outputs)[0]

    return of_parameters


def select(raw: Tensor, outputs: Outputs) -> Tensor:
    """`chosen` without its checks, which look at values: vmap has none to show."""
    if outputs is None:
        return raw
    if callable(outputs):
        picked = outputs(raw)
        return picked.unsqueeze(1) if picked.dim() == 1 else picked
    return raw[:, torch.as_tensor(outputs, device=raw.device)]


def _one_by_one(
    model: nn.Module,
    inputs: Tensor,
    outputs: Outputs,
    parameters: list[nn.Parameter],
    names: list[str],
) -> dict[str, Tensor]:
    rows: dict[str, list[Tensor]] = {name: [] for name in names}
    for example in torch.split(inputs, 1):
        values = chosen(model(example.clone()), outputs, 1)
        for output in values[0]:
            grads = torch.autograd.grad(
                output, parameters, retain_graph=True, materialize_grads=True, allow_unused=True
            )
            for name, grad in zip(names, grads, strict=True):
                rows[name].append(grad.flatten())
    return {
        name: torch.stack(grads).view(len(inputs), -1, grads[0].numel())
        for name, grads in rows.items()
    }
