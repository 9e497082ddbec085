"""Scratch memory that is used again and again.

Fresh memory is dear: the first touch of a page costs microseconds in the kernel, so a product
written into a new tensor takes up to twice as long as one written into an old one.
"""

from __future__ import annotations

from math import prod

from torch import Tensor

from ntkexp.tangent.memory.available import in_huge_pages


class Workspace:
    """Lends tensors of the type and device of `like`. Each loan is valid until the next one."""

    def __init__(self, like: Tensor, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._flat = like.new_empty(0)

    def tensor(self, *shape: int) -> Tensor:
        return self.tensors(shape)[0]

    def tensors(self, *shapes: tuple[int, ...]) -> list[Tensor]:
        """Uninitialised tensors, side by side."""
        sizes = [prod(shape) for shape in shapes]
        if self._flat.numel() < sum(sizes):
            self._flat = self._flat.new_empty(0)  # free the old before taking the new
            self._flat = in_huge_pages(self._flat.new_empty(sum(sizes)))
        lent, start = [], 0
        for shape, size in zip(shapes, sizes, strict=True):
            lent.append(self._flat[start : start + size].view(shape))
            start += size
        return lent
