"""Works of one's own whose networks are alike, trained as one stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.func import vmap

from ntkexp.errors import Diverged, UserError
from ntkexp.members import Columns
from ntkexp.models.drawing import drawing_layers
from ntkexp.models.stack import StackedNetworks
from ntkexp.optim.update import one_or_each
from ntkexp.results.table import Table
from ntkexp.studies.stepped import Row, SteppedWork
from ntkexp.training.members.side_by_side import Members
from ntkexp.training.work import Work

# Losses of a stack and of each network alone differ by rounding only.
ROUNDING = 1e-3


class StackedSteps(Members[SteppedWork]):
    """Each member is a work of its own; only the gradients and the updates are made together."""

    _stacked_members: Sequence[int] = ()
    _stack: Stack | None = None

    def _make_steps(self, active: Sequence[int], to: int) -> None:
        works = [self.works[m] for m in active]
        if active != self._stacked_members:
            if self._stack is not None:
                self._stack.release()
            self._stacked_members, self._stack = active, Stack(works)
        assert self._stack is not None
        step = works[0].step
        drawn = [work.draw(step) for work in works]
        rows: dict[int, Row] = {m: {} for m in active}
        for name in works[0].updates:
            losses, numbers = self._stack.descend(name, drawn, step)
            for place, (m, loss) in enumerate(zip(active, losses.tolist(), strict=True)):
                of_one = {key: values[place] for key, values in numbers.items()}
                if m in self.diverged:
                    continue
                try:
                    rows[m] = {**rows[m], **self.works[m].learnt(name, loss, of_one)}
                except Diverged as error:
                    self._end(m, error)
        for m in active:
            if m not in self.diverged:
                self.works[m].made(rows[m])
                if self.works[m].over:
                    self._events[m] = "over"


class Stack:
    """The networks of all works and their updates; those of each are views into these."""

    def __init__(self, works: Sequence[SteppedWork]) -> None:
        first, self.works = works[0], works
        self.networks = {
            role: StackedNetworks([work.networks[role] for work in works])
            for role in first.networks
        }
        stacked = {
            id(parameter): self.networks[role].parameters[name]
            for role, network in first.networks.items()
            for name, parameter in network.named_parameters()
        }
        self.updates = {
            name: type(update).of_members(
                [work.updates[name] for work in works],
                [stacked[id(parameter)] for parameter in update.parameters],
            )
            for name, update in first.updates.items()
        }

    def losses(self, name: str, drawn: Sequence[Mapping[str, Tensor]]) -> tuple[Tensor, Row]:
        """(M,): the losses of all works, and their numbers likewise."""
        inputs = [{**work.memory, **draws} for work, draws in zip(self.works, drawn, strict=True)]
        stacked = {key: torch.stack([torch.as_tensor(x[key]) for x in inputs]) for key in inputs[0]}
        tensors = {role: (net.parameters, net.buffers) for role, net in self.networks.items()}

        def of_one(tensors: Mapping[str, Any], inputs: Mapping[str, Tensor]) -> tuple[Tensor, Row]:
            networks = {
                role: partial(self.networks[role].one, *pair) for role, pair in tensors.items()
            }
            return self.works[0].loss(name, networks, inputs)

        losses: tuple[Tensor, Row] = vmap(of_one)(tensors, stacked)
        return losses

    def descend(
        self, name: str, drawn: Sequence[Mapping[str, Tensor]], step: int
    ) -> tuple[Tensor, Row]:
        """Make the update of this name of every work; the losses before it, and numbers."""
        losses, numbers = self.losses(name, drawn)
        update = self.updates[name]
        # No work takes part in another's loss: the gradient of the sum has each one's own.
        update.descend(losses.sum())
        for work in self.works:
            work.updates[name].updates = update.updates
        rates = [work.updates[name].rate(work.rate(name, step)) for work in self.works]
        update.apply(one_or_each(rates, update.parameters[0]))
        return losses.detach(), numbers

    def release(self) -> None:
        """Give every work tensors of its own again."""
        for networks in self.networks.values():
            networks.release()
        for work in self.works:
            for update in work.updates.values():
                update.own_memory()


def side_by_side(
    works: Sequence[Work], columns: Sequence[Columns], tables: Sequence[Table]
) -> Members[Any]:
    """The works as one: a stack if they are alike."""
    stepped = [work for work in works if isinstance(work, SteppedWork)]
    if len(stepped) == len(works) and are_alike(stepped):
        return StackedSteps(stepped, columns, tables)
    return Members(works, columns, tables)


def are_alike(works: Sequence[SteppedWork]) -> bool:
    """True if a stack of these works makes the steps that each would make alone.

    They are given by `draw` and `loss`, have networks of one architecture, and what differs
    between them reaches `loss` through `draw`: that is tried on the first step.
    """
    if len({_kind(work) for work in works}) > 1 or _kind(works[0]) is None:
        return False
    buffers = [
        (buffer, buffer.clone())
        for work in works
        for network in work.networks.values()
        for buffer in network.buffers()
    ]
    try:
        stack = Stack(works)
    except UserError:
        return False
    try:
        return all(_agrees(stack, name) for name in works[0].updates)
    finally:
        stack.release()
        for buffer, before in buffers:
            buffer.copy_(before)


def _kind(work: SteppedWork) -> tuple[object, ...] | None:
    """All in which stacked works are equal; None of a work that has no place in a stack."""
    if not work.updates or type(work).update is not SteppedWork.update:
        return None
    if any(drawing_layers(network) for network in work.networks.values()):
        return None
    if not all(update.stacks for update in work.updates.values()):
        return None
    shapes = [
        (role, str(network), [(n, t.shape, t.dtype) for n, t in network.state_dict().items()])
        for role, network in work.networks.items()
    ]
    updates = [(name, type(update)) for name, update in work.updates.items()]
    return type(work), str(shapes), str(updates)


@torch.no_grad()
def _agrees(stack: Stack, name: str) -> bool:
    drawn = [work.draw(0) for work in stack.works]
    alone = [
        work.loss(name, work.networks, {**work.memory, **draws})[0]
        for work, draws in zip(stack.works, drawn, strict=True)
    ]
    try:
        together, _ = stack.losses(name, drawn)
    except RuntimeError:  # what vmap does not take, such as a loss that draws
        return False
    return torch.allclose(torch.stack(alone), together, rtol=ROUNDING, atol=ROUNDING)
