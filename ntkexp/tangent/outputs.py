"""Which outputs of the model the kernel is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite

import torch
from torch import Tensor

from ntkexp.errors import UserError

Outputs = Sequence[int] | Tensor | Callable[[Tensor], Tensor] | None


def chosen(raw: object, outputs: Outputs, examples: int) -> Tensor:
    """The model's (n, c) outputs -> the (n, k) functions whose gradients are the features.

    `outputs` is None (all classes), a list of classes, or a function of the outputs:

    >>> logits = torch.tensor([[1.0, 2.0, 4.0]])
    >>> chosen(logits, lambda f: f[:, 2] - f[:, 0], 1)
    tensor([[3.]])
    """
    if not isinstance(raw, Tensor):
        raise UserError(f"the model returns a {type(raw).__name__}; a tensor (n, c) is needed")
    if callable(outputs):
        picked = outputs(raw)
        if not isinstance(picked, Tensor):
            raise UserError(f"outputs= returns a {type(picked).__name__}; a tensor is needed")
        picked = picked.unsqueeze(1) if picked.dim() == 1 else picked
    else:
        picked = raw
    if picked.dim() != 2 or picked.shape[0] != examples or picked.shape[1] == 0:
        whose = "outputs= of the model's output" if callable(outputs) else "the model's output"
        raise UserError(
            f"{whose} has shape {tuple(picked.shape)} for {examples} inputs; (n, c) is needed"
        )
    if not picked.is_floating_point():
        raise UserError(f"the model's output has type {picked.dtype}; a real float is needed")
    if outputs is not None and not callable(outputs):
        picked = picked[:, _classes(outputs, picked.shape[1], picked.device)]
    # One sum is quicker than a look at each number, and finite unless some number is not (or huge).
    if not isfinite(picked.detach().sum().item()) and not bool(torch.isfinite(picked).all()):
        bad = int((~torch.isfinite(picked)).any(1).nonzero()[0])
        raise UserError(f"the model's output for input {bad} is not finite (NaN or infinity)")
    return picked


def _classes(outputs: Sequence[int] | Tensor, count: int, device: torch.device) -> Tensor:
    classes = torch.as_tensor(outputs, device=device)
    if classes.dim() != 1 or classes.numel() == 0 or classes.is_floating_point():
        raise UserError(f"outputs={outputs!r}: a list of classes or a function is accepted")
    if int(classes.min()) < 0 or int(classes.max()) >= count:
        raise UserError(f"outputs={classes.tolist()}: the model's classes are 0 to {count - 1}")
    return classes
