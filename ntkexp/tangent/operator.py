r"""Products with the kernel of many inputs of a small network, which is never formed.

.. math:: K X = \Phi (\Phi^T X), \qquad \Phi^T X = \sum_i \nabla f(x_i) X_i

Each column of X takes 4 n P operations, for n inputs and P weights; from the kernel it would take
2 n^2, and n^2 numbers of memory: from n = 2 P on this is the cheaper way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from torch import Tensor

from ntkexp.tangent.batch import Batch, Inputs
from ntkexp.tangent.memory import budget_or_default, cut, free_bytes
from ntkexp.tangent.stored_factors import (
    EXAMPLES_AT_ONCE,
    SHARE,
    StoredFactors,
    filled,
    first_two,
    pieces,
)

if TYPE_CHECKING:
    from ntkexp.tangent.tangent_features import TangentFeatures


class KernelOperator:
    """K of `inputs`, (n, n), of one output; made by `TangentFeatures.operator`.

    `stored` has the factors of the gradients; it is None where they are computed anew in every
    product, twice, from the inputs a piece at a time.
    """

    def __init__(self, features: TangentFeatures, inputs: Inputs, stored: bool) -> None:
        self.features, self.inputs = features, inputs
        count, first = len(Batch.of(inputs)), first_two(features, inputs)
        each = sum(part[0].nbytes for part in first.tensors())
        budget = budget_or_default(features.budget_bytes, first.d.device)
        self.at_once = max(1, min(EXAMPLES_AT_ONCE, budget // (2 * each)))
        self.shape, self.dtype = (count, count), first.d.dtype
        self.stored: StoredFactors | None = None
        if stored and count * each <= SHARE * free_bytes(first.d.device):
            self.stored = filled(first, count, pieces(features, inputs, self.at_once))

    def __matmul__(self, x: Tensor) -> Tensor:
        """K X, (n, b), for X (n, b)."""
        return self.push(self.pull(x))

    def pull(self, x: Tensor) -> dict[str, Tensor]:
        """Phi^T X by parameter, each (b, ...)."""
        total: dict[str, Tensor] = {}
        for rows, factors in self._pieces():
            for name, part in factors.pull(x[rows].t()).items():
                total[name] = total[name].add_(part) if name in total else part
        return total

    def push(self, changes: Mapping[str, Tensor]) -> Tensor:
        """Phi V, (n, b), for V by parameter, each (b, ...)."""
        one = next(iter(changes.values()))
        moved = one.new_empty(self.shape[0], len(one))
        for rows, factors in self._pieces():
            moved[rows] = factors.push(changes).t()
        return moved

    def _pieces(self) -> Iterator[tuple[slice, StoredFactors]]:
        if self.stored is None:
            return pieces(self.features, self.inputs, self.at_once)
        stored = self.stored
        return ((rows, stored.at(rows)) for rows in cut(len(stored), self.at_once))
