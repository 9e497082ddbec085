"""The matrix by products only: forwards are kept, and J^T (J v) is two passes back through them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ntkexp.curvature.block import Block
from ntkexp.curvature.gradients import Gradients
from ntkexp.errors import UserError
from ntkexp.tangent.batch import Batch
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.products import tangent_operator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from scipy.sparse.linalg import LinearOperator


class Implicit(Block):
    """F v = mean_i J_i^T R_i R_i^T J_i v, exactly, R the slopes by the outputs. It holds while the
    weights are as they were."""

    passes = 0

    def __init__(self, names: Sequence[str], gradients: Gradients) -> None:
        super().__init__(names)
        self._gradients, self._examples = gradients, 0
        self._terms: list[tuple[LinearOperator, NDArray[Any]]] = []
        self._mean: Tensor | None = None
        function = NetworkFunction(gradients.model)
        for inputs in gradients.batches():
            batch = Batch.of(inputs)
            self._examples += len(batch)
            slopes = gradients.slopes(function(batch).detach(), batch.indices)
            operator = tangent_operator(gradients.model, inputs)
            self._terms.append((operator, torch.stack([*slopes]).cpu().numpy()))
        if gradients.of == "covariance":
            sums = [operator.T @ r.sum(0).ravel() for operator, r in self._terms]
            self._mean = torch.from_numpy(np.sum(sums, axis=0)) / self._examples

    def mv(self, rows: Tensor) -> Tensor:
        products = [self._product(row) for row in rows]
        return torch.stack(products)

    def _product(self, row: Tensor) -> Tensor:
        v = row.cpu().numpy()
        total = np.zeros_like(v)
        for operator, r in self._terms:  # r (m, n, c)
            pushed = (operator @ v).reshape(r.shape[1:])
            total += operator.T @ np.einsum("mnc,mnd,nd->nc", r, r, pushed, optimize=True).ravel()
        product = torch.from_numpy(total).to(row) / self._examples
        if self._mean is None:
            return product
        mean = self._mean.to(row)
        return product - mean * (mean @ row)

    def trace(self) -> Tensor:
        trace = self._gradients.trace()
        return trace if self._mean is None else trace - self._mean.square().sum().to(trace)

    def solve(self, rows: Tensor, damping: float) -> Tensor:
        raise self._lacks("solve", "low_rank")

    def frobenius(self) -> Tensor:
        raise self._lacks("frobenius", "low_rank")

    def dense(self, like: Tensor) -> Tensor:
        raise self._lacks("to_dense", "dense")

    def _lacks(self, what: str, other: str) -> UserError:
        return UserError(f"kind=implicit: has mv, vTMv and trace, no {what}; expected kind={other}")
