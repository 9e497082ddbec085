"""A kernel as blocks of its rows, in memory or in files that are mapped.

Of a symmetric kernel a block has its rows and all columns up to the diagonal block, included: the
lower triangle, half the room of the whole. In a product K X every such block is used twice, as it
is and transposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ntkexp.progress import track
from ntkexp.tangent.memory import cut
from ntkexp.tangent.stored_factors import StoredFactors

ROWS = 1000


@dataclass(frozen=True)
class RowBlocks:
    """The rows (slices, in order) and the numbers of each block; `symmetric` says that what lies
    to the right of diagonal blocks is left out.

    >>> factors = StoredFactors.of(torch.nn.Linear(1, 1), torch.tensor([[2.0], [3.0]]))
    >>> kernel = RowBlocks.triangle(factors, rows=1)
    >>> kernel @ torch.tensor([[1.0], [0.0]])                         # x x' + 1
    tensor([[5.],
            [7.]])
    >>> kernel.rows([0])
    tensor([[5., 7.]])
    """

    blocks: Sequence[tuple[slice, Tensor]]
    symmetric: bool

    @classmethod
    def triangle(cls, factors: StoredFactors, rows: int = ROWS) -> RowBlocks:
        """The kernel of `factors`; made from them once, they are not needed afterwards."""
        parts = cut(len(factors), rows)
        return cls(
            [
                (part, factors.gram(part, slice(0, part.stop)))
                for part in track(parts, "tangent kernel")
            ],
            symmetric=True,
        )

    @property
    def shape(self) -> tuple[int, int]:
        rows, last = self.blocks[-1]
        return rows.stop, last.shape[1]

    @property
    def dtype(self) -> torch.dtype:
        return self.blocks[0][1].dtype

    def __matmul__(self, x: Tensor) -> Tensor:
        """K X, (n, b), for X (m, b)."""
        product = x.new_zeros(self.shape[0], *x.shape[1:])
        for rows, block in self.blocks:
            product[rows] += block @ x[: block.shape[1]]
            if self.symmetric:
                product[: rows.start] += block[:, : rows.start].t() @ x[rows]
        return product

    def rows(self, numbers: Sequence[int] | Tensor) -> Tensor:
        """Whole rows of K, (len(numbers), m)."""
        wanted = torch.as_tensor(numbers)
        found = self.blocks[0][1].new_empty(len(wanted), self.shape[1])
        for rows, block in self.blocks:
            inside = (wanted >= rows.start) & (wanted < rows.stop)
            found[inside, : block.shape[1]] = block[wanted[inside] - rows.start]
            if self.symmetric:
                before = wanted < rows.start
                found[before, rows] = block[:, wanted[before]].t()
        return found


def triangle_bytes(examples: int, element_bytes: int, rows: int = ROWS) -> int:
    """The memory that the triangle of a kernel takes."""
    return sum((part.stop - part.start) * part.stop * element_bytes for part in cut(examples, rows))
