"""By which the kernels of two functions on two sets of inputs are told apart."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor

from ntkexp.tangent.function import NetworkFunction


def description(function: NetworkFunction, *inputs: Tensor) -> str:
    """A digest of weights, buffers, inputs and classes. It knows nothing of the model's code."""
    digest = hashlib.sha256()
    named = [*sorted(function.model.state_dict().items()), *(("inputs", part) for part in inputs)]
    for name, value in named:
        if not isinstance(value, Tensor):
            continue
        digest.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
        digest.update(value.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    outputs = function.outputs
    classes = None if outputs is None or callable(outputs) else [int(c) for c in outputs]
    digest.update(repr((sorted(function.parameters), classes, callable(outputs))).encode())
    return f"tangent kernel {digest.hexdigest()}"
