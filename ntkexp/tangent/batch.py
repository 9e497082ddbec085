"""A batch of inputs together with the positions by which the caller knows its examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from ntkexp.errors import UserError

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
            given = [tuple(part.shape) for part in tensors] or type(inputs).__name__
            raise UserError(
                f"a tensor of at least one input, or a tuple or dict of such tensors, is needed, "
                f"not {given}"
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
        for some in inputs:
            batches.append(cls.of(some, first))
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

    def mapped(self, function: Callable[[Tensor], Tensor]) -> Batch:
        """With every tensor of the inputs put through a function."""
        return Batch(mapped(self.inputs, function), self.indices)

    def to(self, device: torch.device) -> Batch:
        return Batch(mapped(self.inputs, lambda part: part.to(device)), self.indices.to(device))

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, examples: slice | Tensor) -> Batch:
        return Batch(mapped(self.inputs, lambda part: part[examples]), self.indices[examples])


def parts_of(inputs: Inputs) -> list[Tensor]:
    if isinstance(inputs, Tensor):
        return [inputs]
    some = [*inputs.values()] if isinstance(inputs, Mapping) else inputs
    if not isinstance(some, list | tuple) or not all(isinstance(one, Tensor) for one in some):
        return []
    return [*some]


def mapped(inputs: Inputs, function: Callable[[Tensor], Tensor]) -> Inputs:
    if isinstance(inputs, Tensor):
        return function(inputs)
    if isinstance(inputs, Mapping):
        return {name: function(part) for name, part in inputs.items()}
    return tuple(map(function, inputs))
