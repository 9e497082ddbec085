"""The matrix itself: of all parameters, or of a layer each (block-diagonal)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ntkexp.curvature.block import Block, Factors, gradient_rows
from ntkexp.machine import available_bytes, refuse_beyond


class Dense(Block):
    """F (p, p)."""

    def __init__(self, names: Sequence[str], like: Tensor, parameters: int) -> None:
        super().__init__(names)
        needed = 2 * parameters**2 * like.element_size()
        wanted = f"a matrix over the {parameters:,} parameters of {names[0]}"
        wanted += f" to {names[-1]}" if len(names) > 1 else ""
        refuse_beyond("kind", wanted, needed, available_bytes())
        self.matrix = like.new_zeros(parameters, parameters)

    def add(self, factors: Factors) -> None:
        for rows in gradient_rows(factors, self.names):
            self.matrix.addmm_(rows.t(), rows)

    def finish(self, examples: int, mean: Tensor | None) -> None:
        self.matrix /= examples
        if mean is not None:
            self.matrix.addr_(mean, mean, alpha=-1)

    def mv(self, rows: Tensor) -> Tensor:
        return rows @ self.matrix

    def solve(self, rows: Tensor, damping: float) -> Tensor:
        damped = self.matrix.clone()
        damped.diagonal().add_(damping)
        solved: Tensor = torch.linalg.solve(damped, rows.t())
        return solved.t()

    def trace(self) -> Tensor:
        return self.matrix.diagonal().sum(dtype=torch.float64)

    def frobenius(self) -> Tensor:
        norm: Tensor = torch.linalg.matrix_norm(self.matrix)
        return norm
