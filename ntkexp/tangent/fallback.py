"""Per-example Jacobians by torch.func, for parameters no fast rule covers."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap

from ntkexp.tangent.factors import Direct
from ntkexp.tangent.outputs import Outputs, chosen

EXAMPLES_AT_ONCE = 32


def jacobians(
    model: nn.Module, inputs: Tensor, outputs: Outputs, names: list[str]
) -> dict[str, Direct]:
    """d f_ic / d w for the named parameters only, (n, k, p) each.

    Exact for every way a parameter may be used; costs k backwards an example and n k p numbers.
    """
    if not names:
        return {}
    parameters = dict(model.named_parameters())
    some = {name: parameters[name].detach() for name in names}
    gradients = jacrev(_one_example(model, outputs))
    try:
        with warnings.catch_warnings():
            # An operation vmap runs one by one is slow, and still exact.
            warnings.filterwarnings("ignore", "There is a performance drop")
            found = vmap(gradients, in_dims=(None, 0), chunk_size=EXAMPLES_AT_ONCE)(some, inputs)
    except RuntimeError:
        # vmap cannot follow data-dependent control flow; plain autograd can, one by one.
        found = _one_by_one(model, inputs, outputs, [parameters[name] for name in names], names)
    return {
        name: Direct(values.detach().reshape(*values.shape[:2], -1))
        for name, values in found.items()
    }


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
