"""A batch of inputs with the positions by which the caller knows its examples, and the outputs of
the model that the kernel is about."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias

import torch
from torch import Tensor

from ntkexp.errors import UserError

Outputs = Sequence[int] | Tensor | Callable[[Any], Tensor] | Callable[[Any, Tensor], Tensor] | None
INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)
TAKE_INDICES = (
    "let it take (f, indices), where indices are the positions of the examples of f in the batch "
    "that was given"
)

Inputs: TypeAlias = Tensor | Sequence[Tensor] | Mapping[str, Tensor]


@dataclass(frozen=True)
class Batch:
    """Inputs and, for each example, its index among all examples of the request (n,).

    Inputs are a tensor (n, ...), or a tuple or a dict of such tensors, which the model is given as
    arguments. The indices let a function of the outputs use labels: they stay with an example when
    the batch is cut into blocks or reordered.

    >>> whole = Batch.of(torch.zeros(5, 3))
    >>> whole[2:4].indices
    tensor([2, 3])
    >>> Batch.of({"tokens": torch.zeros(5, 3), "mask": torch.ones(5, 3)})[:2].parts()[1].shape
    torch.Size([2, 3])
    """

    inputs: Inputs
    indices: Tensor

    @classmethod
    def of(cls, inputs: Inputs, first: int = 0) -> Batch:
        tensors = parts_of(inputs)
        if not tensors or any(part.dim() == 0 or len(part) == 0 for part in tensors):
            forms = [tuple(part.shape) for part in tensors] or type(inputs).__name__
            raise UserError(
                f"a tensor of at least one input, or a tuple or dict of such tensors, is needed, "
                f"not {forms}"
            )
        if len({len(part) for part in tensors}) > 1:
            shapes = [tuple(part.shape) for part in tensors]
            raise UserError(f"the inputs have {shapes}; as many examples in each are needed")
        n = len(tensors[0])
        indices = torch.arange(first, first + n, device=tensors[0].device)
        return cls(mapped(inputs, Tensor.detach), indices)

    @classmethod
    def several(cls, inputs: Sequence[Inputs]) -> list[Batch]:
        """Batches of one request; their indices go on from one to the next."""
        batches, first = [], 0
        for tensors in inputs:
            batches.append(cls.of(tensors, first))
            first += len(batches[-1])
        return batches

    @classmethod
    def joined(cls, batches: Sequence[Batch]) -> Batch:
        if len(batches) == 1:
            return batches[0]
        shapes = {tuple(tuple(part.shape[1:]) for part in batch.parts()) for batch in batches}
        if len(shapes) > 1:
            raise UserError(f"the batches have inputs of different shapes: {sorted(shapes)}")
        joined = iter([torch.cat(parts) for parts in zip(*map(cls.parts, batches), strict=True)])
        return cls(
            mapped(batches[0].inputs, lambda _: next(joined)),
            torch.cat([batch.indices for batch in batches]),
        )

    def parts(self) -> list[Tensor]:
        """The tensors of the inputs."""
        return parts_of(self.inputs)

    def to(self, device: torch.device) -> Batch:
        return Batch(mapped(self.inputs, lambda part: part.to(device)), self.indices.to(device))

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, examples: slice | Tensor) -> Batch:
        return Batch(mapped(self.inputs, lambda part: part[examples]), self.indices[examples])


def parts_of(inputs: Inputs) -> list[Tensor]:
    if isinstance(inputs, Tensor):
        return [inputs]
    parts = [*inputs.values()] if isinstance(inputs, Mapping) else inputs
    if not isinstance(parts, list | tuple) or not all(isinstance(part, Tensor) for part in parts):
        return []
    return [*parts]


def mapped(inputs: Inputs, function: Callable[[Tensor], Tensor]) -> Inputs:
    if isinstance(inputs, Tensor):
        return function(inputs)
    if isinstance(inputs, Mapping):
        return {name: function(part) for name, part in inputs.items()}
    return tuple(map(function, inputs))


def takes_indices(outputs: Callable[..., Tensor]) -> bool:
    """True for a function of the outputs that wants the examples' indices beside them.

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
            "may take out of it, as outputs=lambda output: output[0]"
        )
    picked = select(raw, outputs, indices) if callable(outputs) else _matrix(raw)
    whose = "outputs= of the model's output" if callable(outputs) else "the model's output"
    if picked.dim() != 2 or picked.shape[0] != len(indices) or picked.shape[1] == 0:
        way_out = "; outputs=lambda f: f.flatten(1) takes all of them, lambda f: f[:, -1] the last"
        raise UserError(
            f"{whose} has shape {tuple(picked.shape)} for {len(indices)} inputs; (n, c) is needed"
            + way_out * (picked.dim() > 2 and not callable(outputs))
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
    """Refuse a kernel that is not finite: gradients of finite outputs may be too large for it."""
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
    except UserError:
        raise
    except Exception as error:  # the function is not ours: it may raise anything
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise UserError(
            f"outputs= fails on the outputs of {len(indices)} examples ({reason}); if it needs to "
            f"know which examples they are, {TAKE_INDICES}"
        ) from error
    if not isinstance(picked, Tensor):
        raise UserError(f"outputs= returns a {type(picked).__name__}; a tensor is needed")
    return _matrix(picked)


def _matrix(values: Tensor) -> Tensor:
    """The values as (n, k); (n,) is one output."""
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
