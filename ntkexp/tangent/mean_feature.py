"""The weighted sum of one parameter's features over several networks of one architecture."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from ntkexp.tangent.factors import Direct, Factor
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
        if isinstance(self._first, Direct) or self._shared is None:
            return Direct(self._sum)
        if self._shared == "inputs":
            return replace(self._first, v=self._sum)
        return replace(self._first, u=Columns(self._sum))

    def _part(self, factor: Factor) -> Tensor:
        if isinstance(factor, Direct) or self._shared is None:
            return factor.jacobian()
        return factor.v if self._shared == "inputs" else everything(factor.u)


def shared(one: Factor, other: Factor) -> Literal["inputs", "gradients"] | None:
    """Which side of their outer products two features have in common."""
    found = _all_shared(one, other)
    return found[0] if found else None


def _all_shared(one: Factor, other: Factor) -> list[Literal["inputs", "gradients"]]:
    if isinstance(one, Direct) or isinstance(other, Direct):
        return []
    found: list[Literal["inputs", "gradients"]] = []
    if _same(one.u, other.u):
        found.append("inputs")
    if torch.equal(one.v, other.v):
        found.append("gradients")
    return found


def _same(one: Positions, other: Positions) -> bool:
    if isinstance(one, Columns) and isinstance(other, Columns):
        return torch.equal(one.values, other.values)
    if isinstance(one, Patches) and isinstance(other, Patches):
        return torch.equal(one.image, other.image)
    if isinstance(one, Indices) and isinstance(other, Indices):
        return torch.equal(one.index, other.index)
    return False


def _scaled(factor: Factor, weight: float) -> Factor:
    if isinstance(factor, Direct):
        return Direct(weight * factor.values)
    return replace(factor, v=weight * factor.v)
