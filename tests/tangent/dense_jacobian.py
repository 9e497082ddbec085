"""The independent ground truth: the whole Jacobian by plain autograd, one row at a time."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


def jacobian(
    model: nn.Module, inputs: Tensor, outputs: Callable[[Tensor], Tensor] = lambda f: f
) -> dict[str, Tensor]:
    """d f_ic / d w of every trainable parameter, (n c, p), rows example-major."""
    names = [name for name, p in model.named_parameters() if p.requires_grad]
    parameters = [p for p in model.parameters() if p.requires_grad]
    rows: dict[str, list[Tensor]] = {name: [] for name in names}
    for example in inputs:
        for value in outputs(model(example[None].clone())).flatten():
            grads = torch.autograd.grad(
                value, parameters, retain_graph=True, allow_unused=True, materialize_grads=True
            )
            for name, grad in zip(names, grads, strict=True):
                rows[name].append(grad.flatten())
    return {name: torch.stack(grads) for name, grads in rows.items()}


def layer_kernels(
    left: dict[str, Tensor], right: dict[str, Tensor] | None = None
) -> dict[str, Tensor]:
    """K^l by the module that owns the parameters."""
    right = left if right is None else right
    kernels: dict[str, Tensor] = {}
    for name, rows in left.items():
        layer = name.partition(".parametrizations")[0].removesuffix(f".{name.split('.')[-1]}")
        layer = layer if "." in name else ""
        kernels[layer] = kernels.get(layer, torch.zeros(())) + rows @ right[name].t()
    return kernels


def distance(ours: Tensor, truth: Tensor) -> float:
    """|ours - truth| relative to the largest entry of the truth."""
    assert ours.shape == truth.shape
    return float((ours - truth).abs().max() / truth.abs().max().clamp_min(1e-300))
