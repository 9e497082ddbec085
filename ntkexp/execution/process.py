"""Signals, memory, threads and precision of the process of a run; and how they are set back."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import FrameType
from typing import Any

from ntkexp.machine.freed_memory import keep_freed_memory

Handler = Callable[[int, FrameType | None], None]
SET = ("OPENBLAS_NUM_THREADS", "CUBLAS_WORKSPACE_CONFIG")


@contextmanager
def as_program() -> Iterator[list[int]]:
    """Surrounds the life of a run in a process that exists for it alone; gives the signals that ask
    it to stop."""
    keep_freed_memory()
    with stop_signals() as signals:
        yield signals


@contextmanager
def undisturbed() -> Iterator[list[int]]:
    """Surrounds the life of a run in a process that goes on afterwards and is left as it was; gives
    the signals that ask the run to stop."""
    with as_found(), stop_signals(again=_stop_here) as signals:
        yield signals


def _stop_here(number: int, frame: FrameType | None) -> None:
    """The second Ctrl-C: what was committed stays."""
    raise KeyboardInterrupt


def end_at_once(number: int, frame: FrameType | None) -> None:
    """End this process wherever it is, also inside code that would turn an exception into
    another."""
    os._exit(128 + number)


@contextmanager
def stop_signals(again: Handler = end_at_once) -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM for the loop to see; `again` answers a second one.

    After a second signal the run keeps what was committed, as after a kill. Only the main thread
    receives signals: in another thread there are none to see.
    """
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        if asked:
            again(number, frame)
        asked.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            # None: it was set by what is not Python, and stays with ours.
            if handler is not None:
                signal.signal(number, handler)


@contextmanager
def as_found() -> Iterator[None]:
    """Threads and precision of torch, numpy and scipy are afterwards what they were.

    Libraries are loaded before anything is set: they read the environment when they start.
    """
    for name in ("torch", "numpy", "scipy.linalg"):
        import_module(name)
    with _threads(), _precision():
        yield


@contextmanager
def _threads() -> Iterator[None]:
    import torch
    from threadpoolctl import threadpool_limits

    before, variables = torch.get_num_threads(), {name: os.environ.get(name) for name in SET}
    try:
        with threadpool_limits(limits=None):
            yield
    finally:
        torch.set_num_threads(before)
        for name, variable in variables.items():
            if variable is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = variable


@contextmanager
def _precision() -> Iterator[None]:
    """torch has two ways to say it. The older one cannot be read where the newer one was used."""
    import torch

    cudnn: Any = torch.backends.cudnn
    flags = (cudnn.deterministic, cudnn.benchmark)
    strictness = torch.get_deterministic_debug_mode()
    settings = [(setting, setting.fp32_precision) for setting in _settings()]
    matmul, tf32 = _readable(torch.get_float32_matmul_precision), _readable(_tf32_of_cudnn)
    try:
        yield
    finally:
        cudnn.deterministic, cudnn.benchmark = flags
        torch.set_deterministic_debug_mode(strictness)
        if matmul is not None:
            torch.set_float32_matmul_precision(matmul)
        if tf32 is not None:
            cudnn.allow_tf32 = tf32
        for setting, precision in settings:
            if setting.fp32_precision != precision:
                setting.fp32_precision = precision


def _settings() -> tuple[Any, ...]:
    backends: Any = sys.modules["torch"].backends
    cudnn, mkldnn = backends.cudnn, backends.mkldnn
    whole = (backends, cudnn, mkldnn)
    return (*whole, backends.cuda.matmul, cudnn.conv, cudnn.rnn,
            mkldnn.matmul, mkldnn.conv, mkldnn.rnn)  # fmt: skip


def _tf32_of_cudnn() -> Any:
    return sys.modules["torch"].backends.cudnn.allow_tf32


def _readable(setting: Any) -> Any:
    try:
        return setting()
    except RuntimeError:
        return None
