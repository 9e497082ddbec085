"""The matrix by the gradients themselves: J^T J / n, with the Jacobian J (m, p) kept."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ntkexp.curvature.block import Block, Factors, gradient_rows


class LowRank(Block):
    """R^T R, with rows R = J / sqrt n. Solved by Woodbury's identity,
    (R^T R + e)^-1 = (1 - R^T (R R^T + e)^-1 R) / e."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(names)
        self._parts: list[Tensor] = []
        self.rows = torch.empty(0)

    def add(self, factors: Factors) -> None:
        self._parts += gradient_rows(factors, self.names)

    def finish(self, examples: int, mean: Tensor | None) -> None:
        rows, self._parts = torch.cat(self._parts), []
        self.rows = (rows if mean is None else rows - mean) / math.sqrt(examples)

    def mv(self, rows: Tensor) -> Tensor:
        return (rows @ self.rows.t()) @ self.rows

    def solve(self, rows: Tensor, damping: float) -> Tensor:
        gram = self.rows @ self.rows.t()
        gram.diagonal().add_(damping)
        pushed = self.rows @ rows.t()
        inside: Tensor = torch.linalg.solve(gram, pushed)
        return (rows - inside.t() @ self.rows) / damping

    def trace(self) -> Tensor:
        return self.rows.square().sum(dtype=torch.float64)

    def frobenius(self) -> Tensor:
        norm: Tensor = torch.linalg.matrix_norm(self.rows @ self.rows.t())
        return norm
