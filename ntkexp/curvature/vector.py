"""Vectors of parameters: a tensor for each, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent.function import trainable


@dataclass(frozen=True)
class Vector:
    """A vector of parameters, or of what they are differentiated or moved by.

    >>> v = Vector.of(nn.Linear(2, 1))
    >>> (v + v - 2 * v).norm()
    0.0
    """

    parts: Mapping[str, Tensor]

    @classmethod
    def of(cls, model: nn.Module) -> Self:
        """The parameters that are trained, a copy of them."""
        return cls({name: w.detach().clone() for name, w in trainable(model).items()})

    @classmethod
    def gradients(cls, model: nn.Module) -> Self:
        """Their gradients after a backward, 0 for a parameter that the loss does not need."""
        weights = trainable(model)
        if all(w.grad is None for w in weights.values()):
            raise UserError("the model holds no gradients; expected loss.backward() before")
        return cls(
            {
                name: torch.zeros_like(w) if w.grad is None else w.grad.detach().clone()
                for name, w in weights.items()
            }
        )

    @classmethod
    def random(cls, model: nn.Module, generator: torch.Generator) -> Self:
        """A vector of length 1 in a random direction."""
        parts = {
            name: torch.randn(w.shape, generator=generator, dtype=w.dtype).to(w.device)
            for name, w in trainable(model).items()
        }
        drawn = cls(parts)
        return drawn * (1 / drawn.norm())

    def __add__(self, other: Self) -> Self:
        return self._with(lambda name, part: part + other.parts[name])

    def __sub__(self, other: Self) -> Self:
        return self._with(lambda name, part: part - other.parts[name])

    def __mul__(self, scalar: float) -> Self:
        return self._with(lambda name, part: scalar * part)

    __rmul__ = __mul__

    def __truediv__(self, scalar: float) -> Self:
        return self * (1 / scalar)

    def __neg__(self) -> Self:
        return self * -1

    def dot(self, other: Self) -> float:
        products = (torch.sum(v * other.parts[name]) for name, v in self.parts.items())
        return sum(float(product) for product in products)

    def norm(self) -> float:
        norms = [torch.linalg.vector_norm(part).double() for part in self.parts.values()]
        return float(torch.linalg.vector_norm(torch.stack(norms)))

    def flat(self) -> Tensor:
        return torch.cat([part.flatten() for part in self.parts.values()])

    def _with(self, change: Callable[[str, Tensor], Tensor]) -> Self:
        return type(self)({name: change(name, part) for name, part in self.parts.items()})
