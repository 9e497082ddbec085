"""The kernel of a whole batch as one function, for batch norm in training mode and dropout.

There x_j moves f(x_i), so the features are rows of the Jacobian of the batch function
(x_1, ..., x_n) -> f(x_1), ..., f(x_n), and depend on the batch. It takes n c full backwards, about
50 times the kernel of a net in evaluation mode.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ntkexp.tangent.batch import Batch
from ntkexp.tangent.factors import Direct, Factor
from ntkexp.tangent.features import layer_of
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.kernel import TangentKernel, add_layer
from ntkexp.tangent.memory import Workspace, budget_or_default
from ntkexp.tangent.shape import mirror


def batch_kernel(
    function: NetworkFunction, batch: Batch, layers: bool, budget_bytes: int | None
) -> TangentKernel:
    """K of one forward of the batch; noise is what it drew."""
    values = function(batch)
    size, workspace = values.numel(), Workspace(values.detach(), 0)
    weights = sum(parameter.numel() for parameter in function.parameters.values())
    budget = budget_or_default(budget_bytes, values.device)
    step = max(1, budget // (2 * weights * values.element_size()))
    parts = [slice(start, min(start + step, size)) for start in range(0, size, step)]
    names = dict.fromkeys(map(layer_of, function.parameters))
    grams = {name: values.new_zeros(size, size).detach() for name in names}
    for index, rows in enumerate(parts):
        left = _rows(function, values, rows)
        for columns in parts[: index + 1]:
            right = None if columns == rows else _rows(function, values, columns)
            for name, gram in grams.items():
                others = None if right is None else right[name]
                add_layer(gram[rows, columns], name, left[name], others, workspace)
    for gram in grams.values():
        mirror(gram)
    total = torch.stack([*grams.values()]).sum(0)
    return TangentKernel(total, grams if layers else {}, values.shape[1])


def _rows(function: NetworkFunction, values: Tensor, rows: slice) -> dict[str, dict[str, Factor]]:
    """Some rows of the Jacobian, each as an example of one output, by layer and parameter."""
    grads = [
        torch.autograd.grad(
            value,
            [*function.parameters.values()],
            retain_graph=True,
            allow_unused=True,
            materialize_grads=True,
        )
        for value in values.flatten()[rows]
    ]
    factors: dict[str, dict[str, Factor]] = {}
    for name, of_parameter in zip(function.parameters, zip(*grads, strict=True), strict=True):
        stacked = torch.stack([grad.flatten() for grad in of_parameter])
        factors.setdefault(layer_of(name), {})[name] = Direct(stacked.unsqueeze(1))
    return factors
