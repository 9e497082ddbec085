"""An update of the weights by a gradient, in two halves.

The halves are apart so that a probe can stand between them: there the coming change of the weights
is known while the network is still as it was. A difference of weights would not do: at a rate of
1e-6 in float32 most of it is rounding.

A hyperparameter is a number, or a tensor (M,) with one number for each of M networks whose tensors
are stacked along the first dimension.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.optim.observer import Forward

Number = float | Tensor


class WeightUpdate:
    """The base of all updates. `memory` has lists of tensors by name: those of `memory_of` are
    shaped like the `parameters`, and a stack of networks needs no others; a subclass may keep lists
    of any tensors there, at any time, or has a `state` of its own."""

    # The names of the hyperparameters, which are attributes.
    hyperparameters: tuple[str, ...] = ()
    # Hyperparameters in which the members of one run may not differ.
    alike: tuple[str, ...] = ()
    # The names of the lists of the memory.
    memory_of: tuple[str, ...] = ()
    # True if every update is the same but for its tensors, so that a CUDA graph can repeat it.
    repeats = False
    # True if it looks at the forward of every minibatch (ntkexp/optim/observer.py).
    sees_forward = False
    # What it cannot give to probes: "updates", where the coming change of the weights is not known.
    hides: frozenset[str] = frozenset()
    # True if it can update many networks whose tensors are stacked.
    stacks = True

    def __init__(self, parameters: Iterable[Tensor], **hyperparameters: Number) -> None:
        self.parameters = [parameter for parameter in parameters if parameter.requires_grad]
        for name in self.hyperparameters:
            setattr(self, name, hyperparameters[name])
        self.memory = {
            name: [torch.zeros_like(parameter) for parameter in self.parameters]
            for name in self.memory_of
        }
        self.updates = 0
        # Gradients that were taken in and are not applied yet, where it keeps them; and the stack,
        # and the place in it, of one of many networks.
        self.gradients: list[Tensor] = []
        self.part_of: tuple[WeightUpdate, int] | None = None

    def around_forward(self, model: nn.Module) -> AbstractContextManager[object]:
        """Surrounds the forward of a minibatch, where `sees_forward`."""
        return nullcontext()

    def on_forward(self, forward: Forward) -> None:
        """Looks at the forward of a minibatch. The graph must stay whole."""

    def rate(self, planned: float) -> float:
        """The rate of the coming update, where the optimiser itself decides it; else `planned`."""
        return planned

    def compute(self) -> None:
        """Take in the gradients that the parameters hold, and forget them. It is 0 for a parameter
        that takes no part in the loss, such as a layer that a network of one's own does not use."""
        self.take([torch.zeros_like(w) if w.grad is None else w.grad for w in self.parameters])
        for parameter in self.parameters:
            parameter.grad = None

    def descend(self, loss: Tensor) -> None:
        """Take in the gradient of a loss. Backward, unlike autograd.grad, gives each parameter a
        gradient in memory of its own; other parameters get none."""
        torch.autograd.backward(loss, inputs=self.parameters)
        self.compute()

    def coming(self) -> Sequence[Tensor]:
        """The gradients that were taken in and are not applied yet."""
        if self.part_of is None:
            return self.gradients
        stack, place = self.part_of
        return [gradient[place] for gradient in stack.gradients]

    def take(self, gradients: list[Tensor]) -> None:
        """Take in these gradients, whose tensors may be written over."""
        raise NotImplementedError

    def apply(self, lr: Number) -> None:
        """Change the parameters."""
        raise NotImplementedError

    def change(self, lr: Number) -> list[Tensor]:
        """The coming change of every parameter."""
        raise NotImplementedError

    @torch.no_grad()
    def step_norm(self, lr: float) -> Tensor:
        """|dw|_2 of the coming change."""
        total: Tensor = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(self.change(lr))))
        return total

    def state(self) -> dict[str, Any]:
        """A copy of the memory, and the number of updates."""
        copies = {name: [t.clone() for t in tensors] for name, tensors in self.memory.items()}
        return {"updates": self.updates, **copies}

    @torch.no_grad()
    def restore(self, state: dict[str, Any]) -> None:
        self.updates = state["updates"]
        for name, tensors in state.items():
            if name in self.memory_of:  # in place: they may be part of a stack
                torch._foreach_copy_(self.memory[name], tensors)
            elif name != "updates":
                device = self.parameters[0].device
                self.memory[name] = [tensor.to(device, copy=True) for tensor in tensors]

    def own_memory(self) -> None:
        """Have tensors of its own again, where it was part of a stack."""
        self.part_of = None
        self.memory = {name: [t.clone() for t in tensors] for name, tensors in self.memory.items()}

    @classmethod
    def of_members(cls, members: Sequence[Self], parameters: Sequence[Tensor]) -> Self:
        """The update of M networks whose parameters are stacked; the memories of the `members`
        become views into its own."""
        hyperparameters = {
            name: one_or_each([getattr(member, name) for member in members], parameters[0])
            for name in cls.hyperparameters
        }
        for name in cls.alike:
            if isinstance(hyperparameters[name], Tensor):
                raise UserError(f"members: optim.{name} differs; expected one value for all")
        stacked = cls(parameters, **hyperparameters)
        stacked.updates = members[0].updates
        for index, member in enumerate(members):
            member.part_of = stacked, index
        for name, tensors in stacked.memory.items():
            for place, tensor in enumerate(tensors):
                torch.stack([member.memory[name][place] for member in members], out=tensor)
                for index, member in enumerate(members):
                    member.memory[name][place] = tensor[index]
        return stacked


def one_or_each(values: Sequence[float], like: Tensor) -> Number:
    """One number where all agree, which is quicker; else a tensor (M,)."""
    if len(set(values)) == 1:
        return values[0]
    return torch.tensor(values, dtype=like.dtype, device=like.device)


def scale_(tensors: list[Tensor], by: Number) -> None:
    """t <- by t."""
    if isinstance(by, Tensor):
        for tensor in tensors:
            tensor.mul_(along(by, tensor))
    else:
        torch._foreach_mul_(tensors, by)


def add_(tensors: list[Tensor], others: list[Tensor], by: Number) -> None:
    """t <- t + by u."""
    if isinstance(by, Tensor):
        for tensor, other in zip(tensors, others, strict=True):
            tensor.addcmul_(other, along(by, other))
    else:
        torch._foreach_add_(tensors, others, alpha=by)


def along(values: Tensor, like: Tensor) -> Tensor:
    """(M,) made to broadcast along the first dimension of `like`."""
    return values.view(-1, *[1] * (like.dim() - 1))
