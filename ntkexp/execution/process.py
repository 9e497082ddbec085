"""Signals, memory, threads and precision of the process of a run; and how they are set back."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], None]
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's <malloc.h>
PIECE_BYTES, KEPT_BYTES = 64 * 2**20, 2**30
# SLURM signals every process of a job, and those that have children pass it on: all of that is to
# be asked once.
ECHO_SECONDS = 1.0
# The variables of the environment that a run sets.
VARIABLES = ("OPENBLAS_NUM_THREADS", "CUBLAS_WORKSPACE_CONFIG")


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


def keep_freed_memory() -> None:
    """From now on this process keeps what it frees, up to a gigabyte; without glibc, no change.

    Pieces of over 64 MiB still go back: kept, they would leave holes that nothing fits.

    Left alone, malloc gives every large tensor back to Linux when it goes and takes new pages for
    the next, each of which costs a first touch: up to a fifth of the processor time of ResNet18's
    kernel. It is for programs to call, not for a library behind their backs.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(M_MMAP_THRESHOLD, PIECE_BYTES)
        libc.mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)


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
    received: list[int] = []
    asked: list[float] = []

    def receive(number: int, frame: FrameType | None) -> None:
        asked.append(time.monotonic())
        if received and not (number == received[0] and asked[-1] - asked[0] < ECHO_SECONDS):
            again(number, frame)
        received.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before = {number: signal.signal(number, receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            # None: the handler before was not set from Python, and cannot be set again.
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

    before, environment = torch.get_num_threads(), dict(os.environ)
    try:
        with threadpool_limits(limits=None):
            yield
    finally:
        torch.set_num_threads(before)
        for name in VARIABLES:
            os.environ.pop(name, None)
            if name in environment:
                os.environ[name] = environment[name]


@contextmanager
def _precision() -> Iterator[None]:
    """Restores torch's two sets of switches; the older cannot be read where the newer was used."""
    import torch

    backends: Any = torch.backends
    cudnn, mkldnn = backends.cudnn, backends.mkldnn
    by_layer = [backends, cudnn, mkldnn, backends.cuda.matmul, cudnn.conv, cudnn.rnn,
                mkldnn.matmul, mkldnn.conv, mkldnn.rnn]  # fmt: skip
    strictness = torch.get_deterministic_debug_mode()
    before = [(cudnn, name, getattr(cudnn, name)) for name in ("deterministic", "benchmark")]
    matmul = None
    with contextlib.suppress(RuntimeError):
        matmul = torch.get_float32_matmul_precision()
    with contextlib.suppress(RuntimeError):
        before.append((cudnn, "allow_tf32", cudnn.allow_tf32))
    precisions = [(setting, "fp32_precision", setting.fp32_precision) for setting in by_layer]
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(strictness)
        if matmul is not None:
            torch.set_float32_matmul_precision(matmul)
        for setting, name, value in (*before, *precisions):
            if name != "fp32_precision" or setting.fp32_precision != value:
                setattr(setting, name, value)
