"""Look at a model and leave it exactly as it was found, also when it raises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn


@contextmanager
def untouched(model: nn.Module, *, tf32: bool = False) -> Iterator[None]:
    """Differentiable full-precision forwards inside; buffers and random state restored outside.

    Gradients need no care: nothing in this package writes to `.grad`.
    """
    buffers = [
        (module, name, buffer, buffer.detach().clone())
        for module in model.modules()
        for name, buffer in module._buffers.items()
        if buffer is not None
    ]
    devices = {p.device for p in model.parameters() if p.device.type == "cuda"}
    with ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices=list(devices)))
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        for kind in {p.device.type for p in model.parameters()}:
            stack.enter_context(torch.autocast(kind, enabled=False))
        if not tf32:
            stack.enter_context(_full_precision())
        try:
            yield
        finally:
            for module, name, buffer, value in buffers:
                module._buffers[name] = buffer
                # Not by version: batch norm moves its statistics without counting it.
                if not torch.equal(buffer, value):
                    with torch.no_grad():
                        buffer.copy_(value)


@contextmanager
def _full_precision() -> Iterator[None]:
    """TF32 costs errors of 2e-4 and negative eigenvalues; kernels are computed without it."""
    # These attributes exist only at run time: torch replaces the modules by objects.
    cudnn: Any = torch.backends.cudnn
    mkldnn: Any = torch.backends.mkldnn
    settings = (torch.backends.cuda.matmul, cudnn.conv, mkldnn.conv, mkldnn.matmul)
    before = [setting.fp32_precision for setting in settings]
    for setting in settings:
        setting.fp32_precision = "ieee"
    try:
        yield
    finally:
        for setting, precision in zip(settings, before, strict=True):
            setting.fp32_precision = precision
