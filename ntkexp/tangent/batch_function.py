"""The kernel of a whole batch as one function, for batch norm in training mode and dropout.

There x_j moves f(x_i), so the features are rows of the Jacobian of the batch function
(x_1, ..., x_n) -> f(x_1), ..., f(x_n), and depend on the batch. It takes n c full backwards, about
50 times the kernel of a net in evaluation mode.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from ntkexp.tangent.features import layer_of
from ntkexp.tangent.shape import lower_blocks, mirror


def batch_kernels(
    values: Tensor, parameters: dict[str, nn.Parameter], budget_bytes: int
) -> dict[str, Tensor]:
    """K by layer from the outputs (n, k) of one forward of the batch; noise is what it drew."""
    weights = sum(parameter.numel() for parameter in parameters.values())
    step = max(1, budget_bytes // (2 * weights * values.element_size()))
    size = values.numel()
    layers = dict.fromkeys(map(layer_of, parameters))
    grams = {name: values.new_zeros(size, size).detach() for name in layers}
    parts = [slice(start, min(start + step, size)) for start in range(0, size, step)]
    for index, rows in enumerate(parts):
        left = _gradients(values, parameters, rows)
        _add(grams, left, left, rows, rows)
        for columns in parts[:index]:
            _add(grams, left, _gradients(values, parameters, columns), rows, columns)
    for gram in grams.values():
        mirror(gram)
    return grams


def _gradients(
    values: Tensor, parameters: dict[str, nn.Parameter], rows: slice
) -> dict[str, Tensor]:
    """(rows, p) of every parameter."""
    found = {
        name: values.new_empty((rows.stop - rows.start, p.numel())).detach()
        for name, p in parameters.items()
    }
    for row, grads in enumerate(_backwards(values, list(parameters.values()), rows)):
        for name, grad in zip(parameters, grads, strict=True):
            found[name][row] = grad.flatten()
    return found


def _backwards(
    values: Tensor, parameters: list[nn.Parameter], rows: slice
) -> Iterator[tuple[Tensor, ...]]:
    for value in values.flatten()[rows]:
        yield torch.autograd.grad(
            value, parameters, retain_graph=True, allow_unused=True, materialize_grads=True
        )


def _add(
    grams: dict[str, Tensor],
    left: dict[str, Tensor],
    right: dict[str, Tensor],
    rows: slice,
    columns: slice,
) -> None:
    for name, one in left.items():
        block = grams[layer_of(name)][rows, columns]
        if left is not right:
            block.addmm_(one, right[name].t())
            continue
        for r, c in lower_blocks(len(one), 128):
            block[r, c].addmm_(one[r], one[c].t())
