"""Inputs of a layer, which its weight was multiplied with: u_id for each output position d.

Every class here is the same object (n, G, K, D), stored in its own way: n examples, G groups of
channels, K features a position, D positions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional


@dataclass(kw_only=True)
class Positions(ABC):
    """The inputs u_id of a layer; `with_one` adds a feature that is always 1, for a bias."""

    with_one: bool = False

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int, int, int]:
        """(n, G, K, D)."""

    @property
    def groups(self) -> int:
        return self.shape[1]

    @property
    def features(self) -> int:
        return self.shape[2]

    @property
    def unit(self) -> int:
        """The number of features that can only be taken together."""
        return 1

    @abstractmethod
    def columns(self, groups: slice, features: slice) -> Tensor:
        """Some features (bounds multiples of `unit`) of some groups, (n, G', K', D)."""

    @abstractmethod
    def part(self, examples: slice) -> Self:
        """The positions of some examples."""

    def rows(self, group: int) -> Tensor:
        """A group in the form that `products` takes, (n, D, anything)."""
        return self._group(group).transpose(1, 2).contiguous()

    def products(self, left: Tensor, right: Tensor, out: Tensor) -> None:
        """<u_id, u_je> from two sets of rows, into (n_left D, n_right D)."""
        torch.mm(left.flatten(0, 1), right.flatten(0, 1).t(), out=out)
        if self.with_one:
            out += 1

    def own_products(self, group: int) -> Tensor:
        """<u_id, u_ie> of every example with itself, (n, D, D)."""
        whole = self._group(group)
        return torch.bmm(whole.mT, whole)

    def _group(self, group: int) -> Tensor:
        return self.columns(slice(group, group + 1), slice(0, self.features)).squeeze(1)


@dataclass
class Columns(Positions):
    """The vectors themselves, (n, G, K, D)."""

    values: Tensor

    @property
    def shape(self) -> tuple[int, int, int, int]:
        n, groups, features, positions = self.values.shape
        return n, groups, features, positions

    def columns(self, groups: slice, features: slice) -> Tensor:
        return self.values[:, groups, features]

    def part(self, examples: slice) -> Self:
        return replace(self, values=self.values[examples])


@dataclass
class Patches(Positions):
    """The windows of an image under a kernel, cut out, and padded, only when they are needed.

    image (n, C, *space); the rest has one entry for each dimension of space.
    """

    image: Tensor
    blocks: int
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[int, ...]
    output: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, int, int, int]:
        n, channels, *_ = self.image.shape
        return n, self.blocks, channels // self.blocks * self.unit, prod(self.output)

    @property
    def unit(self) -> int:
        return prod(self.kernel)

    def columns(self, groups: slice, features: slice) -> Tensor:
        channels = slice(features.start // self.unit, features.stop // self.unit)
        n, _, *space = self.image.shape
        image = self.image.reshape(n, self.blocks, -1, *space)[:, groups, channels]
        blocks = image.shape[1]
        windows = self._windows(image.flatten(1, 2))
        return windows.reshape(n, blocks, -1, prod(self.output))

    def _windows(self, image: Tensor) -> Tensor:
        """A view (n, C, *kernel, *output) of the padded image: no copy but for the padding."""
        if any(self.padding):
            image = functional.pad(image, [p for p in reversed(self.padding) for _ in "ab"])
        space = image.stride()[2:]
        strides = (
            *image.stride()[:2],
            *(s * d for s, d in zip(space, self.dilation, strict=True)),
            *(s * step for s, step in zip(space, self.stride, strict=True)),
        )
        size = (*image.shape[:2], *self.kernel, *self.output)
        return image.as_strided(size, strides, image.storage_offset())

    def correlated(self, groups: slice, v: Tensor) -> Tensor:
        """sum_d v_d u_d^T of some groups, (n, G', 1, K), from v (n, G', 1, D): the gradient by its
        weight of a convolution of all examples side by side, each group on its own."""
        n, together = v.shape[:2]
        image = self.image.reshape(n, self.blocks, -1, *self.image.shape[2:])[:, groups]
        weight = image.new_empty(n * together, image.shape[2], *self.kernel)
        gradient: Tensor = torch.ops.aten.convolution_backward(
            v.reshape(1, n * together, *self.output),
            image.reshape(1, -1, *self.image.shape[2:]),
            weight,
            None,
            self.stride,
            self.padding,
            self.dilation,
            False,
            [0] * len(self.kernel),
            n * together,
            [False, True, False],
        )[1]
        return gradient.view(n, together, 1, -1)

    def part(self, examples: slice) -> Self:
        return replace(self, image=self.image[examples])


@dataclass
class Indices(Positions):
    """One-hot vectors, kept as the index of their one, (n, D)."""

    index: Tensor
    size: int
    dtype: torch.dtype

    @property
    def shape(self) -> tuple[int, int, int, int]:
        n, positions = self.index.shape
        return n, 1, self.size, positions

    def columns(self, groups: slice, features: slice) -> Tensor:
        values = torch.arange(features.start, features.stop, device=self.index.device)
        return (self.index[:, None, None] == values[:, None]).to(self.dtype)

    def rows(self, group: int) -> Tensor:
        return self.index.unsqueeze(2)

    def products(self, left: Tensor, right: Tensor, out: Tensor) -> None:
        torch.eq(left.flatten()[:, None], right.flatten(), out=out)

    def own_products(self, group: int) -> Tensor:
        return (self.index.unsqueeze(2) == self.index.unsqueeze(1)).to(self.dtype)

    def part(self, examples: slice) -> Self:
        return replace(self, index=self.index[examples])


def side_by_side(uses: list[Positions]) -> Positions:
    """The positions of several uses of one weight, one after the other."""
    first = uses[0]
    if isinstance(first, Indices) and all(isinstance(use, Indices) for use in uses):
        indices = [use.index for use in uses if isinstance(use, Indices)]
        return replace(first, index=torch.cat(indices, dim=1))
    return Columns(torch.cat([everything(use) for use in uses], dim=3))


def everything(positions: Positions) -> Tensor:
    """All vectors, (n, G, K, D)."""
    if isinstance(positions, Columns):
        return positions.values
    return positions.columns(slice(0, positions.groups), slice(0, positions.features))


def split_features(features: int, unit: int, most: int) -> list[tuple[int, int]]:
    """Ranges of at most `most` features, multiples of `unit`, of a length fit for products.

    >>> split_features(27, 9, 20)
    [(0, 18), (18, 27)]
    """
    units = max(1, most // unit)
    # Rows that are no multiple of 16 numbers long cost a matrix product up to 20 % of its speed.
    step = (units - units % 16 or units) * unit
    bounds = [*range(0, features, step), features]
    return list(pairwise(bounds))
