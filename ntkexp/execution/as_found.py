"""What a run sets for its process, set back when it has ended: for runs inside other programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

SET = ("OPENBLAS_NUM_THREADS", "CUBLAS_WORKSPACE_CONFIG")


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
    settings = [(one, one.fp32_precision) for one in _settings()]
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
        for one, precision in settings:
            if one.fp32_precision != precision:
                one.fp32_precision = precision


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
