"""The weighted sum of one parameter's features over several networks of one architecture."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from ntkexp.tangent.factors import Direct, Factor, Outer, Tied
from ntkexp.tangent.positions import Columns, Indices, Patches, Positions, everything


class MeanFeature:
    """sum_t weight_t grad f_t: outer products as long as all terms share one side of theirs.

    >>> mean = MeanFeature()
    >>> for value, weight in ((1.0, 0.25), (5.0, 0.75)):
    ...     mean.add(Direct(torch.full((1, 1, 1), value)), weight)
    >>> mean.factor().jacobian()
    tensor([[[4.]]])
    """

    def __init__(self) -> None:
        self._first: Factor | None = None
        self._weight = 0.0
        self._shared: Literal["inputs", "gradients"] | None = None
        self._sum: Tensor | None = None

    def add(self, factor: Factor, weight: float) -> None:
        if self._first is None:
            self._first, self._weight = factor, weight
            return
        if self._sum is None:
            self._shared = shared(self._first, factor)
            self._sum = self._weight * self._part(self._first)
        elif self._shared and self._shared not in _all_shared(self._first, factor):
            self._sum = self.factor().jacobian()
            self._shared = None
        self._sum.add_(self._part(factor), alpha=weight)

    def factor(self) -> Factor:
        """The sum so far."""
        assert self._first is not None
        if self._sum is None:
            return _scaled(self._first, self._weight)
        if not isinstance(self._first, Outer) or self._shared is None:
            return Direct(self._sum)
        if self._shared == "inputs":
            return replace(self._first, v=self._sum)
        return replace(self._first, u=Columns(self._sum))

    def _part(self, factor: Factor) -> Tensor:
        if not isinstance(factor, Outer) or self._shared is None:
            return factor.jacobian()
        return factor.v if self._shared == "inputs" else everything(factor.u)


def shared(left: Factor, right: Factor) -> Literal["inputs", "gradients"] | None:
    """The side of their outer products that two features have in common."""
    sides = _all_shared(left, right)
    return sides[0] if sides else None


def _all_shared(left: Factor, right: Factor) -> list[Literal["inputs", "gradients"]]:
    if not isinstance(left, Outer) or not isinstance(right, Outer):
        return []
    sides: list[Literal["inputs", "gradients"]] = []
    if _same(left.u, right.u):
        sides.append("inputs")
    if torch.equal(left.v, right.v):
        sides.append("gradients")
    return sides


def _same(left: Positions, right: Positions) -> bool:
    if isinstance(left, Columns) and isinstance(right, Columns):
        return torch.equal(left.values, right.values)
    if isinstance(left, Patches) and isinstance(right, Patches):
        return torch.equal(left.image, right.image)
    if isinstance(left, Indices) and isinstance(right, Indices):
        return torch.equal(left.index, right.index)
    return False


def _scaled(factor: Factor, weight: float) -> Factor:
    if isinstance(factor, Direct):
        return Direct(weight * factor.values)
    if isinstance(factor, Tied):
        return replace(factor, uses=[replace(use, v=weight * use.v) for use in factor.uses])
    return replace(factor, v=weight * factor.v)
