"""Look at a model and leave it exactly as it was found, also when it raises."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn


@contextmanager
def preserve_model_state(model: nn.Module, *, tf32: bool = False) -> Iterator[None]:
    """Differentiable full-precision forwards inside; buffers restored outside.

    One thread at a time has a module: forwards may change buffers, and torch.func puts other
    tensors in the place of parameters. Gradients need no care: nothing in this package writes to
    `.grad`. Random numbers are guard.py's concern.
    """
    with ExitStack() as stack:
        for lock in _locks(model):
            stack.enter_context(lock)
        buffers = [
            (module, name, buffer, buffer.detach().clone())
            for module in model.modules()
            for name, buffer in module._buffers.items()
            if buffer is not None
        ]
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        for kind in {p.device.type for p in model.parameters()} - {"meta"}:
            stack.enter_context(torch.autocast(kind, enabled=False))
        if not tf32:
            stack.enter_context(_full_precision)
        try:
            yield
        finally:
            for module, name, buffer, value in buffers:
                module._buffers[name] = buffer
                # Not by version: batch norm moves its statistics without counting it.
                if not torch.equal(buffer, value):
                    with torch.no_grad():
                        buffer.copy_(value)


_lock_of: WeakKeyDictionary[nn.Module, threading.RLock] = WeakKeyDictionary()
_lock_of_locks = threading.Lock()


def _locks(model: nn.Module) -> list[threading.RLock]:
    """The lock of every module, in an order that is the same for all threads.

    Every module, not the model alone: two models may share a part.
    """
    modules = sorted(model.modules(), key=id)
    with _lock_of_locks:
        return [_lock_of.setdefault(module, threading.RLock()) for module in modules]


class _FullPrecision:
    """TF32 costs errors of 2e-4 and negative eigenvalues; kernels are computed without it.

    The settings are the process's. The first to come saves them, the last to go restores them.
    """

    def __init__(self) -> None:
        self._lock, self._users, self._before = threading.Lock(), 0, list[str]()

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._before = [setting.fp32_precision for setting in _settings()]
                for setting in _settings():
                    setting.fp32_precision = "ieee"
            self._users += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                for setting, precision in zip(_settings(), self._before, strict=True):
                    setting.fp32_precision = precision


_full_precision = _FullPrecision()


def _settings() -> tuple[Any, ...]:
    # These attributes exist only at run time: torch replaces the modules by objects.
    cudnn: Any = torch.backends.cudnn
    mkldnn: Any = torch.backends.mkldnn
    return torch.backends.cuda.matmul, cudnn.conv, mkldnn.conv, mkldnn.matmul
