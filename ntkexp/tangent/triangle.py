"""The kernel of many examples as its lower triangle in memory: half the room of the whole.

Rows come in blocks: block r has the rows r and all columns up to the diagonal block, included. In a
product K X every block is used twice, as it is and transposed.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ntkexp.progress import Progress
from ntkexp.tangent.stored_factors import StoredFactors

ROWS = 1000


class Triangle:
    """The kernel of `factors`; made from them once, they are not needed afterwards.

    >>> factors = StoredFactors.of(torch.nn.Linear(1, 1), torch.tensor([[2.0], [3.0]]))
    >>> Triangle(factors, rows=1) @ torch.tensor([[1.0], [0.0]])      # x x' + 1
    tensor([[5.],
            [7.]])
    """

    def __init__(self, factors: StoredFactors, rows: int = ROWS) -> None:
        self.examples = len(factors)
        self.blocks: list[tuple[slice, Tensor]] = []
        with Progress("tangent kernel", self.examples, shown=False) as bar:
            for start in range(0, self.examples, rows):
                block = slice(start, min(start + rows, self.examples))
                self.blocks.append((block, factors.gram(block, slice(0, block.stop))))
                bar.advance(block.stop - block.start)

    def __matmul__(self, x: Tensor) -> Tensor:
        """K X for X (n, b)."""
        product = torch.zeros_like(x)
        for rows, block in self.blocks:
            product[rows] += block @ x[: rows.stop]
            product[: rows.start] += block[:, : rows.start].t() @ x[rows]
        return product


def triangle_bytes(examples: int, element_bytes: int, rows: int = ROWS) -> int:
    """The memory that the triangle of a kernel takes."""
    return sum(
        (min(start + rows, examples) - start) * min(start + rows, examples) * element_bytes
        for start in range(0, examples, rows)
    )
