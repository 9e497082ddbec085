"""Which outputs of the model the kernel is about."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

import torch
from torch import Tensor

from ntkexp.errors import UserError

Outputs = Sequence[int] | Tensor | Callable[[Any], Tensor] | Callable[[Any, Tensor], Tensor] | None
INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)
TAKE_INDICES = (
    "let it take (f, indices), where indices are the positions of the examples of f in the batch "
    "that was given"
)


def takes_indices(outputs: Callable[..., Tensor]) -> bool:
    """Whether a function of the outputs wants the examples' indices beside them.

    >>> takes_indices(lambda f: f[:, 0]), takes_indices(lambda f, indices: f[:, 0])
    (False, True)
    """
    try:
        parameters = inspect.signature(outputs).parameters.values()
    except (TypeError, ValueError):  # a function written in C says nothing about itself
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in positional and p.default is p.empty]
    return len(needed) >= 2


def chosen(raw: Any, outputs: Outputs, indices: Tensor) -> Tensor:
    """The model's (n, c) outputs -> the (n, k) functions whose gradients are the features.

    `outputs` is None (all classes), a list of classes, or a function of what the model returns:

    >>> logits, labels = torch.tensor([[1.0, 2.0, 4.0]]), torch.tensor([1])
    >>> chosen(logits, lambda f: f[:, 2] - f[:, 0], torch.arange(1))
    tensor([[3.]])
    >>> chosen(logits, lambda f, i: f.gather(1, labels[i, None]), torch.arange(1))
    tensor([[2.]])
    """
    if not callable(outputs) and not isinstance(raw, Tensor):
        raise UserError(
            f"the model returns a {type(raw).__name__}; a tensor (n, c) is needed, which outputs= "
            "may take out of it, as outputs=lambda found: found[0]"
        )
    picked = select(raw, outputs, indices) if callable(outputs) else _matrix(raw)
    whose = "outputs= of the model's output" if callable(outputs) else "the model's output"
    if picked.dim() != 2 or picked.shape[0] != len(indices) or picked.shape[1] == 0:
        raise UserError(
            f"{whose} has shape {tuple(picked.shape)} for {len(indices)} inputs; (n, c) is needed"
        )
    if not picked.is_floating_point():
        raise UserError(f"{whose} has type {picked.dtype}; a real float is needed")
    if outputs is not None and not callable(outputs):
        picked = picked[:, _classes(outputs, picked.shape[1], picked.device)]
    # One sum is quicker than a look at each number, and finite unless some number is not (or huge).
    if not isfinite(picked.detach().sum().item()) and not bool(torch.isfinite(picked).all()):
        bad = int(indices[(~torch.isfinite(picked)).any(1).nonzero()[0]])
        raise UserError(f"the model's output for input {bad} is not finite (NaN or infinity)")
    return picked


def check_finite(gram: Tensor) -> None:
    """Gradients of finite outputs may be too large to be multiplied."""
    if not isfinite(gram.sum().item()) and not bool(torch.isfinite(gram).all()):
        raise UserError(
            f"entries of the kernel are not finite: too large for {gram.dtype}; a wider type may "
            "hold them, as model.double() does"
        )


def select(raw: Any, outputs: Outputs, indices: Tensor) -> Tensor:
    """`chosen` without the checks of values: inside vmap there are no values to check."""
    if outputs is None:
        return _matrix(raw)
    if not callable(outputs):
        return _matrix(raw)[:, torch.as_tensor(outputs, device=raw.device)]
    arguments = (raw, indices) if takes_indices(outputs) else (raw,)
    try:
        picked = outputs(*arguments)
    except (RuntimeError, IndexError, KeyError, TypeError, AttributeError) as error:
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"outputs= fails on the outputs of {len(indices)} examples ({reason}); if it needs to "
            f"know which examples they are, {TAKE_INDICES}"
        ) from error
    if not isinstance(picked, Tensor):
        raise UserError(f"outputs= returns a {type(picked).__name__}; a tensor is needed")
    return _matrix(picked)


def _matrix(values: Tensor) -> Tensor:
    """(n,) is one output."""
    return values.unsqueeze(1) if values.dim() == 1 else values


def _classes(outputs: Sequence[int] | Tensor, count: int, device: torch.device) -> Tensor:
    accepted = "a list of classes or a function is accepted"
    try:
        classes = torch.as_tensor(outputs, device=device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UserError(f"outputs={outputs!r}: {accepted}") from error
    # A mask would be taken for the classes 1 and 0.
    if classes.dim() != 1 or classes.numel() == 0 or classes.dtype not in INTEGERS:
        raise UserError(f"outputs={outputs!r}: {accepted}")
    if int(classes.min()) < 0 or int(classes.max()) >= count:
        raise UserError(f"outputs={classes.tolist()}: the model's classes are 0 to {count - 1}")
    return classes
