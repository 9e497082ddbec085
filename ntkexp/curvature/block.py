"""A block of a matrix over parameters: those of a layer, or all. Outside of blocks it is 0.

Rows (m, p) are the block's parameters side by side, in the order of `names`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor

from ntkexp.tangent.factors import Factor
from ntkexp.tangent.memory import cut

Factors = Mapping[str, Factor]
# Gradients that are formed at a time.
NUMBERS_AT_ONCE = 2**24


class Block(ABC):
    """mean_i sum_c g_ic g_ic^T of some parameters, in one of its representations."""

    # How often it needs to see the gradients.
    passes: ClassVar[int] = 1

    def __init__(self, names: Sequence[str]) -> None:
        self.names = [*names]

    def add(self, factors: Factors) -> None:  # noqa: B027 (a block of no passes has none)
        """The gradients of a batch, by parameter."""

    def finish(self, examples: int, mean: Tensor | None) -> None:  # noqa: B027
        """All examples were added in this pass; `mean` (p,), if any, is the gradient whose product
        with itself is to be subtracted."""

    @abstractmethod
    def mv(self, rows: Tensor) -> Tensor:
        """F v for each of some rows v."""

    @abstractmethod
    def solve(self, rows: Tensor, damping: float) -> Tensor:
        """(F + damping)^-1 v for each of some rows v."""

    @abstractmethod
    def trace(self) -> Tensor: ...

    @abstractmethod
    def frobenius(self) -> Tensor: ...

    def dense(self, like: Tensor) -> Tensor:
        """(p, p)."""
        return self.mv(torch.eye(like.shape[-1], dtype=like.dtype, device=like.device))


def gradient_rows(factors: Factors, names: Sequence[str]) -> Iterator[Tensor]:
    """The gradients as rows, (m, p), of a few examples at a time."""
    chosen = [factors[name] for name in names]
    first = chosen[0]
    n, k = (first.v if not hasattr(first, "values") else first.values).shape[:2]
    numbers = k * sum(factor.parameters for factor in chosen)
    for part in cut(n, max(1, NUMBERS_AT_ONCE // numbers)):
        yield torch.cat([factor.part(part).jacobian() for factor in chosen], 2).flatten(0, 1)
