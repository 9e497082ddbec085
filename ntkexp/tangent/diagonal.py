r"""Parts of the tangent kernel: its sum over outputs, its diagonal blocks, its diagonal.

.. math:: \sum_c K_{(i,c),(j,c)} \quad (n, n') \qquad K_{(i,c),(i,c')} \quad (n, c, c)
          \qquad K_{(i,c),(i,c)} = |\nabla f_c(x_i)|^2 \quad (n, c)

None of them needs the whole kernel, (n c, n c): for 100 images of 1,000 classes it has 40 GB.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn

from ntkexp.tangent.batch import Batch, Inputs, Outputs, select
from ntkexp.tangent.factors import CPU_BYTES, Direct, Factor, Outer
from ntkexp.tangent.function import NetworkFunction, check_examples_independent
from ntkexp.tangent.kernel import TangentKernel
from ntkexp.tangent.positions import everything
from ntkexp.tangent.state import preserve_model_state
from ntkexp.tangent.tangent_features import TangentFeatures

OUTPUTS_AT_ONCE = 16


def summed_kernel(
    model: nn.Module,
    inputs: Inputs,
    other: Inputs | None = None,
    *,
    mean: bool = False,
    layers: bool = True,
    outputs: Outputs = None,
    budget_bytes: int | None = None,
    parameters: Sequence[str] | None = None,
) -> TangentKernel:
    """sum_c K[(i,c),(j,c)], (n, n'); `mean` divides by the number of outputs, as `trace_axes` of
    neural-tangents does. A few outputs are in memory at a time.

    >>> net = nn.Linear(2, 3, bias=False)
    >>> summed_kernel(net, torch.tensor([[1.0, 0.0], [3.0, 4.0]])).gram         # 3 x x'
    tensor([[ 3.,  9.],
            [ 9., 75.]])
    """
    check_examples_independent(model)
    with preserve_model_state(model):
        count = NetworkFunction(model, outputs)(Batch.of(inputs)[:1]).shape[1]
    total: TangentKernel | None = None
    for start in range(0, count, OUTPUTS_AT_ONCE):
        features = TangentFeatures(
            model,
            outputs=_columns(outputs, slice(start, start + OUTPUTS_AT_ONCE)),
            budget_bytes=budget_bytes,
            check=total is None,
            parameters=parameters,
        )
        part = features.kernel(inputs, other, layers=layers, summed=True)
        if total is not None:
            part.gram += total.gram
            for name, gram in total.layers.items():
                part.layers[name] += gram
        total = part
    assert total is not None
    return total.times(1 / count) if mean else total


def _columns(outputs: Outputs, columns: slice) -> Callable[[Any, Tensor], Tensor]:
    return lambda raw, indices: select(raw, outputs, indices)[:, columns]


def tangent_blocks(model: nn.Module, inputs: Inputs, **options: Any) -> Tensor:
    """K[(i,c),(i,c')], (n, c, c). The options are those of `TangentFeatures`.

    >>> tangent_blocks(nn.Linear(2, 2, bias=False), torch.tensor([[3.0, 4.0]]))
    tensor([[[25.,  0.],
             [ 0., 25.]]])
    """

    def products(factor: Factor) -> Tensor:
        if isinstance(factor, Outer) and factor.v.shape[4] == 1:  # |u|^2 v v^T
            v, lengths = factor.v[..., 0], everything(factor.u).square().sum((2, 3))
            return torch.einsum("nkgo,nlgo,ng->nkl", v, v, lengths)
        return torch.cat([rows @ rows.mT for rows in _gradients(factor)])

    return _added(model, inputs, products, options)


def tangent_diagonal(model: nn.Module, inputs: Inputs, **options: Any) -> Tensor:
    """K[(i,c),(i,c)] = |grad f_c(x_i)|^2, (n, c). The options are those of `TangentFeatures`.

    >>> tangent_diagonal(nn.Linear(2, 2, bias=False), torch.tensor([[3.0, 4.0]]))
    tensor([[25., 25.]])
    """

    def squares(factor: Factor) -> Tensor:
        if isinstance(factor, Outer) and factor.v.shape[4] == 1:
            v, lengths = factor.v.square().sum((3, 4)), everything(factor.u).square().sum((2, 3))
            return torch.einsum("nkg,ng->nk", v, lengths)
        return torch.cat([rows.square().sum(2) for rows in _gradients(factor)])

    return _added(model, inputs, squares, options)


def _added(
    model: nn.Module, inputs: Inputs, values: Callable[[Factor], Tensor], options: dict[str, Any]
) -> Tensor:
    blocks = TangentFeatures(model, **options).in_blocks(inputs)
    return torch.cat([reduce(torch.add, map(values, b.by_parameter.values())) for b in blocks])


def _gradients(factor: Factor) -> Iterator[Tensor]:
    """The gradients (b, k, p) of a few examples at a time: all at once would be the Jacobian."""
    like = factor.values if isinstance(factor, Direct) else factor.v
    bytes_each = like.shape[1] * factor.parameters * like.element_size()
    step = max(1, CPU_BYTES // bytes_each)
    for start in range(0, len(like), step):
        yield factor.part(slice(start, start + step)).jacobian()
