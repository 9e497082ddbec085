"""What of `torch.cuda` runs ask for, on the pretended device.

There are two devices, of which tensors can be on the first. Streams and graphs belong to the
current device, as those of CUDA do. A graph keeps the operations of its device that are done
meanwhile; nobody may wait for the device then. A replay does them again, on the same tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten

from ntkexp import machine as hardware
from tests.pretended import device

GIB = 2**30


class Stream:
    def __init__(self) -> None:
        self.device = machine.current

    def wait_stream(self, other: Stream) -> None:
        assert isinstance(other, Stream)


class CUDAGraph:
    def __init__(self) -> None:
        self.operations: list[tuple[Any, Any, Any, list[Tensor]]] = []

    def note(self, func: Any, args: Any, kwargs: Any, found: Any) -> None:
        given = {id(one) for one in tree_flatten((args, kwargs))[0] if isinstance(one, Tensor)}
        made = [one for one in tree_flatten(found)[0] if isinstance(one, Tensor)]
        fresh = [one for one in made if id(one) not in given and not _is_view(func)]
        self.operations.append((func, args, kwargs, fresh))

    @torch.no_grad()
    def replay(self) -> None:
        machine.replays += 1
        for func, args, kwargs, fresh in self.operations:
            again = [
                one for one in tree_flatten(func(*args, **kwargs))[0] if isinstance(one, Tensor)
            ]
            for kept, value in zip(fresh, again, strict=False):
                kept.copy_(value)


def _is_view(func: Any) -> bool:
    return any(one.alias_info and not one.alias_info.is_write for one in func._schema.returns)


class Machine:
    """Two GPUs; `current` is the one that streams and graphs are made on."""

    def __init__(self) -> None:
        self.current, self.refuses_waits, self.replays = 0, False, 0
        self.recording: tuple[CUDAGraph, int] | None = None
        self.free, self.reserved, self.allocated = 10 * GIB, 0, 0

    def done(self, func: Any, args: Any, kwargs: Any, found: Any) -> None:
        if self.recording is not None and self.recording[1] == 0:
            self.recording[0].note(func, args, kwargs, found)

    def waited(self, what: str) -> None:
        if self.refuses_waits:
            raise RuntimeError(f"called a synchronizing CUDA operation ({what})")
        if self.recording is not None:
            raise RuntimeError("CUDA error: operation not permitted when stream is capturing")

    @contextmanager
    def at(self, chosen: torch.device | int | None) -> Iterator[None]:
        before = self.current
        if chosen is not None:
            self.current = chosen if isinstance(chosen, int) else (chosen.index or 0)
        try:
            yield
        finally:
            self.current = before

    @contextmanager
    def graph(self, graph: CUDAGraph, *, stream: Stream | None = None) -> Iterator[None]:
        self.recording = graph, self.current if stream is None else stream.device
        try:
            yield
        finally:
            self.recording = None

    def set_mode(self, mode: str | int) -> None:
        self.refuses_waits = mode in ("error", 2)


machine = Machine()


@contextmanager
def pretended(current: int = 0) -> Iterator[torch.device]:
    """Inside, runs compute on `pretended:0`, while the process's current device is `current`."""
    machine.__init__()  # type: ignore[misc]
    machine.current = current
    chosen = torch.device(device.NAME, 0)
    state = torch.get_rng_state()
    names: dict[str, Any] = {
        "is_available": lambda: True,
        "device_count": lambda: 2,
        "current_device": lambda: machine.current,
        "device": machine.at,
        "Stream": Stream,
        "current_stream": Stream,
        "stream": lambda stream: machine.at(stream.device),
        "CUDAGraph": CUDAGraph,
        "graph": machine.graph,
        "get_sync_debug_mode": lambda: 2 if machine.refuses_waits else 0,
        "set_sync_debug_mode": machine.set_mode,
        "mem_get_info": lambda device: (machine.free, 2 * machine.free),
        "memory_reserved": lambda device: machine.reserved,
        "memory_allocated": lambda device: machine.allocated,
        "get_device_name": lambda device: "a pretended GPU",
        "get_rng_state": lambda device: state,
        "set_rng_state": lambda state, device: None,
    }
    with pytest.MonkeyPatch.context() as patch:
        for where, name, ours in device.patches():
            patch.setattr(where, name, ours)
        for name, ours in names.items():
            patch.setattr(torch.cuda, name, ours)
        patch.setattr(hardware, "GPU_TYPES", {*hardware.GPU_TYPES, device.NAME})
        patch.setattr("ntkexp.training.device.resolve", lambda asked: chosen)
        patch.setattr(device, "on_wait", [machine.waited])
        patch.setattr(device, "on_done", [machine.done])
        device.waits.clear()
        yield chosen
