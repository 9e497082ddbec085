"""What a layer's weight was multiplied with: an input vector u_id for each output position d.

Every class here is the same object (n, G, K, D), stored in its own way: n examples, G groups of
channels, K features a position, D positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Protocol, Self

import torch
from torch import Tensor
from torch.nn import functional


class Positions(Protocol):
    """What all the classes below offer."""

    @property
    def examples(self) -> int: ...

    @property
    def groups(self) -> int: ...

    @property
    def features(self) -> int: ...

    @property
    def positions(self) -> int: ...

    @property
    def unit(self) -> int:
        """How many features can only be taken together."""

    def columns(self, groups: slice, features: slice) -> Tensor:
        """Some features (bounds multiples of `unit`) of some groups, (n, G', K', D)."""

    def rows(self, group: int) -> Tensor:
        """What `products` needs of a group, (n, D, anything)."""

    def products(self, left: Tensor, right: Tensor, out: Tensor) -> None:
        """<u_id, u_je> from two sets of rows, into (n_left D, n_right D)."""

    def own_products(self, group: int) -> Tensor:
        """<u_id, u_ie> of every example with itself, (n, D, D)."""

    def part(self, examples: slice) -> Self:
        """Those examples only."""


@dataclass
class Columns:
    """The vectors themselves, (n, G, K, D)."""

    values: Tensor

    @property
    def unit(self) -> int:
        return 1

    @property
    def examples(self) -> int:
        return self.values.shape[0]

    @property
    def groups(self) -> int:
        return self.values.shape[1]

    @property
    def features(self) -> int:
        return self.values.shape[2]

    @property
    def positions(self) -> int:
        return self.values.shape[3]

    def columns(self, groups: slice, features: slice) -> Tensor:
        return self.values[:, groups, features]

    def rows(self, group: int) -> Tensor:
        return self.values[:, group].transpose(1, 2).contiguous()

    def products(self, left: Tensor, right: Tensor, out: Tensor) -> None:
        torch.mm(left.flatten(0, 1), right.flatten(0, 1).t(), out=out)

    def own_products(self, group: int) -> Tensor:
        return torch.bmm(self.values[:, group].mT, self.values[:, group])

    def part(self, examples: slice) -> Self:
        return replace(self, values=self.values[examples])


@dataclass
class Patches:
    """The windows of an image under a kernel, cut out, and padded, only when they are needed.

    image (n, C, *space); the rest has one entry for each dimension of space, `padding` how much
    before and after.
    """

    image: Tensor
    blocks: int
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    padding_mode: str
    output: tuple[int, ...]

    @property
    def examples(self) -> int:
        return self.image.shape[0]

    @property
    def groups(self) -> int:
        return self.blocks

    @property
    def features(self) -> int:
        return self.image.shape[1] // self.groups * self.unit

    @property
    def positions(self) -> int:
        return prod(self.output)

    @property
    def unit(self) -> int:
        return prod(self.kernel)

    def columns(self, groups: slice, features: slice) -> Tensor:
        channels = slice(features.start // self.unit, features.stop // self.unit)
        n, _, *space = self.image.shape
        image = self.image.reshape(n, self.groups, -1, *space)[:, groups, channels]
        blocks = image.shape[1]
        image = padded(image.flatten(1, 2), self.padding, self.padding_mode)
        seen = windows(image, self.kernel, self.stride, self.dilation, self.output)
        return seen.reshape(n, blocks, -1, self.positions)

    def rows(self, group: int) -> Tensor:
        whole = self.columns(slice(group, group + 1), slice(0, self.features))
        return whole.squeeze(1).transpose(1, 2).contiguous()

    def products(self, left: Tensor, right: Tensor, out: Tensor) -> None:
        torch.mm(left.flatten(0, 1), right.flatten(0, 1).t(), out=out)

    def own_products(self, group: int) -> Tensor:
        whole = self.columns(slice(group, group + 1), slice(0, self.features)).squeeze(1)
        return torch.bmm(whole.mT, whole)

    def part(self, examples: slice) -> Self:
        return replace(self, image=self.image[examples])


@dataclass
class Indices:
    """One-hot vectors, kept as the index of their one, (n, D)."""

    index: Tensor
    size: int
    dtype: torch.dtype

    @property
    def groups(self) -> int:
        return 1

    @property
    def features(self) -> int:
        return self.size

    @property
    def examples(self) -> int:
        return self.index.shape[0]

    @property
    def positions(self) -> int:
        return self.index.shape[1]

    @property
    def unit(self) -> int:
        return 1

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


@dataclass
class WithOne:
    """Positions with one more feature, always 1: what a bias is multiplied with."""

    inner: Positions

    @property
    def examples(self) -> int:
        return self.inner.examples

    @property
    def groups(self) -> int:
        return self.inner.groups

    @property
    def features(self) -> int:
        return self.inner.features

    @property
    def positions(self) -> int:
        return self.inner.positions

    @property
    def unit(self) -> int:
        return self.inner.unit

    def columns(self, groups: slice, features: slice) -> Tensor:
        return self.inner.columns(groups, features)

    def rows(self, group: int) -> Tensor:
        return self.inner.rows(group)

    def products(self, left: Tensor, right: Tensor, out: Tensor) -> None:
        self.inner.products(left, right, out)
        out += 1

    def own_products(self, group: int) -> Tensor:
        return self.inner.own_products(group) + 1

    def part(self, examples: slice) -> Self:
        return replace(self, inner=self.inner.part(examples))


def side_by_side(parts: list[Positions]) -> Positions:
    """The positions of several uses of one weight, one after the other."""
    if all(isinstance(part, Indices) for part in parts):
        indices = [part.index for part in parts if isinstance(part, Indices)]
        assert isinstance(parts[0], Indices)
        return replace(parts[0], index=torch.cat(indices, dim=1))
    return Columns(torch.cat([everything(part) for part in parts], dim=3))


def everything(part: Positions) -> Tensor:
    """All vectors, (n, G, K, D)."""
    if isinstance(part, Columns):
        return part.values
    return part.columns(slice(0, part.groups), slice(0, part.features))


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


def windows(
    image: Tensor,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
    output: tuple[int, ...],
) -> Tensor:
    """A view (..., *kernel, *output) of the padded image (..., *space): no copy."""
    leading = image.dim() - len(kernel)
    space = image.stride()[leading:]
    size = (*image.shape[:leading], *kernel, *output)
    strides = (
        *image.stride()[:leading],
        *(s * d for s, d in zip(space, dilation, strict=True)),
        *(s * step for s, step in zip(space, stride, strict=True)),
    )
    return image.as_strided(size, strides, image.storage_offset())


def padded(image: Tensor, amounts: Sequence[tuple[int, int]], mode: str = "zeros") -> Tensor:
    """Pad each dimension of space by (before, after); modes as in torch.nn.Conv2d."""
    if not any(before or after for before, after in amounts):
        return image
    flat = [side for amount in reversed(amounts) for side in amount]
    return functional.pad(image, flat, mode="constant" if mode == "zeros" else mode)
