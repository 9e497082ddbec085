"""The memory that there is, that a forward keeps, and scratch memory for products."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from math import prod

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.machine import available_bytes, free_gpu_bytes, on_gpu

CPU_BUDGET_BYTES = 5 * 2**30
CUDA_SHARE = 0.6
# The share of the budget for activations and gradients; the rest is workspace for products.
PASS_SHARE = 0.8
# Asking a container for its memory takes 0.6 ms, a kernel of a small network 2: one that any
# machine has room for is not asked about.
SMALL_BYTES = 64 * 2**20
MADV_HUGEPAGE = 14
HUGE_PAGE_BYTES = 2 * 2**20


def default_budget(device: torch.device) -> int:
    """5 GiB but no more than half of the machine's; 60 % of what is free on a GPU."""
    if on_gpu(device):
        return int(CUDA_SHARE * free_gpu_bytes(device))
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min(CPU_BUDGET_BYTES, machine // 2)


def budget_or_default(budget: int | None, device: torch.device) -> int:
    """The budget that was asked for, or the device's default if it is None."""
    if budget is None:
        return default_budget(device)
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        raise UserError(f"budget_bytes={budget!r}: expected a whole number of bytes, 1 or more")
    return budget


def refuse_beyond_memory(rows: int, columns: int, layers: int, like: Tensor) -> None:
    """Refuse a kernel that does not fit into memory, before anything is computed for it."""
    needed = rows * columns * (1 + layers) * like.element_size()
    if needed <= SMALL_BYTES:
        return
    free = free_bytes(like.device)
    if needed > free:
        extra = f" and as much for each of {layers} layers" if layers else ""
        raise UserError(
            f"a kernel of {rows:,} x {columns:,} numbers{extra} takes {needed / 2**30:,.1f} GiB of "
            f"memory, there are {free / 2**30:.1f}: layers=False leaves out the layers, outputs= "
            "takes fewer outputs, TangentFeatures.operator multiplies without it"
        )


def free_bytes(device: torch.device) -> int:
    """The memory that is free on a device."""
    return free_gpu_bytes(device) if on_gpu(device) else available_bytes()


def blocks(examples: int, bytes_per_example: int, budget_bytes: int) -> list[slice]:
    """Ranges of examples. When one does not hold all, two at a time must fit.

    >>> blocks(10, 100, 10_000)
    [slice(0, 10, None)]
    >>> blocks(10, 1000, 10_000)
    [slice(0, 4, None), slice(4, 8, None), slice(8, 10, None)]
    """
    room = int(budget_bytes * PASS_SHARE) // bytes_per_example
    if examples <= room:
        return [slice(0, examples)]
    return cut(examples, max(1, room // 2))


def cut(length: int, size: int) -> list[slice]:
    """Slices of so many rows, a shorter one at the end."""
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]


class SavedBytes:
    """Bytes that a forward keeps for its backward, each piece of memory once, weights apart."""

    def __init__(self, model: nn.Module) -> None:
        tensors = [*model.parameters(), *model.buffers()]
        self._seen = {tensor.untyped_storage().data_ptr() for tensor in tensors}
        self.bytes = 0

    @contextmanager
    def counting(self) -> Iterator[None]:
        with torch.autograd.graph.saved_tensors_hooks(self._count, lambda tensor: tensor):
            yield

    def _count(self, tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in self._seen:
            self._seen.add(storage.data_ptr())
            self.bytes += storage.nbytes()
        return tensor.detach()  # the tensor itself would close a cycle with the node that saves it


def in_huge_pages(fresh: Tensor) -> Tensor:
    """Ask Linux to back a large new CPU tensor by pages of 2 MiB; anywhere else, nothing happens.

    The first touch of an ordinary page costs up to 2.4 microseconds on a virtual machine: half a
    second for a gigabyte, as much as the products that fill it.
    """
    first = -(-fresh.data_ptr() // HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES
    last = (fresh.data_ptr() + fresh.nbytes) // HUGE_PAGE_BYTES * HUGE_PAGE_BYTES
    if fresh.device.type == "cpu" and last > first and sys.platform == "linux":
        _libc().madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), MADV_HUGEPAGE)
    return fresh


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


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
