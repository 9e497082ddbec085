"""A batch of inputs together with the positions by which the caller knows its examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ntkexp.errors import UserError


@dataclass(frozen=True)
class Batch:
    """Inputs (n, ...) and, for each, its index among all examples of the request (n,).

    The indices let a function of the outputs use labels: they stay with an example when the batch
    is cut into blocks or reordered.

    >>> whole = Batch.of(torch.zeros(5, 3))
    >>> whole[2:4].indices
    tensor([2, 3])
    """

    inputs: Tensor
    indices: Tensor

    @classmethod
    def of(cls, inputs: Tensor, first: int = 0) -> Batch:
        if not isinstance(inputs, Tensor) or inputs.dim() == 0 or len(inputs) == 0:
            given = tuple(inputs.shape) if isinstance(inputs, Tensor) else type(inputs).__name__
            raise UserError(f"a tensor of at least one input is needed, not {given}")
        indices = torch.arange(first, first + len(inputs), device=inputs.device)
        return cls(inputs.detach(), indices)

    @classmethod
    def several(cls, tensors: Sequence[Tensor]) -> list[Batch]:
        """Batches of one request; their indices go on from one to the next."""
        batches, first = [], 0
        for inputs in tensors:
            batches.append(cls.of(inputs, first))
            first += len(inputs)
        return batches

    @classmethod
    def joined(cls, batches: Sequence[Batch]) -> Batch:
        if len(batches) == 1:
            return batches[0]
        shapes = {tuple(batch.inputs.shape[1:]) for batch in batches}
        if len(shapes) > 1:
            raise UserError(f"the batches have inputs of different shapes: {sorted(shapes)}")
        return cls(
            torch.cat([batch.inputs for batch in batches]),
            torch.cat([batch.indices for batch in batches]),
        )

    def to(self, device: torch.device) -> Batch:
        return Batch(self.inputs.to(device), self.indices.to(device))

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, examples: slice | Tensor) -> Batch:
        return Batch(self.inputs[examples], self.indices[examples])
