"""Linearised networks trained in function space, many at once: no network takes part.

For f = f_0 + J_0 (theta - theta_0) and a loss with slopes s = dl/df on a minibatch, put in the
places of its examples among all training examples, SGD with momentum m at the rate eta is

    theta - theta_0 = J_0^T a,   f = f_0 + K a,   v <- m v + s,   a <- a - eta v,

as the gradient is J_0^T s and the velocity J_0^T v (George's thesis, section 5.2). K is the tangent
kernel of the training examples at theta_0, (n c, n c), and an update reads the rows of its
minibatch. Runs that differ in labels or rates alone have one K: their a stand side by side, and one
product serves them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ntkexp.objectives.base import Loss
from ntkexp.optim.update import WeightUpdate, one_or_each
from ntkexp.training.function_space.frozen_kernels import FrozenKernels
from ntkexp.training.learners.stacked_batches import StackedBatches


@dataclass
class Coefficients:
    """The coefficients a (n c,) of one run, its optimiser, and its kernels.

    Runs of equal `order` see the same minibatches.
    """

    a: Tensor
    update: WeightUpdate
    kernels: FrozenKernels
    order: object


@dataclass
class _Block:
    """G kernels, for each of which there are L runs that see the same minibatches."""

    kernels: Sequence[FrozenKernels]  # G
    kernel: Tensor  # (G, N, N)
    start: Tensor  # (G, n, c)
    runs: slice  # of the sorted runs, G L of them
    together: int  # L
    _rooms: dict[tuple[str, int], Tensor] = field(default_factory=dict)

    def outputs(self, a: Tensor, numbers: Tensor | None) -> Tensor:
        """(G L, b, c): f on the training examples `numbers` (G L, b), None for all of them."""
        groups, examples, outputs = self.start.shape
        size = examples * outputs
        if numbers is None:
            rows, start = self.kernel, self.start
        else:
            first = numbers[:: self.together]
            for kernels, read in zip(self.kernels, first, strict=True):
                kernels.expect(read)
            rows = self._gathered("rows", self.kernel.view(groups, examples, -1), first)
            start = self._gathered("start", self.start, first)
            examples = numbers.shape[1]
        side_by_side = a.view(groups, self.together, size)
        moved = torch.bmm(side_by_side, rows.reshape(groups, examples * outputs, size).mT)
        moved = moved.view(groups, self.together, examples, outputs)
        return (moved + start.unsqueeze(1)).flatten(0, 1)

    def _gathered(self, name: str, tensors: Tensor, numbers: Tensor) -> Tensor:
        """(G, b, ...): into a room that is taken once; fresh memory would cost more than the sum.

        The last batch of an epoch may be a smaller one.
        """
        key = name, numbers.shape[1]
        if key not in self._rooms:
            self._rooms[key] = tensors.new_empty(len(tensors), numbers.shape[1], *tensors.shape[2:])
        room = self._rooms[key]
        for row, tensor, chosen in zip(room, tensors, numbers, strict=True):
            torch.index_select(tensor, 0, chosen, out=row)
        return room


class FunctionStack:
    """M runs and one optimiser for all; each run's tensors become views into the common ones."""

    bursts = True

    def __init__(
        self, runs: Sequence[Coefficients], batches: StackedBatches, objective: Loss
    ) -> None:
        self.objective, self.batches, self._runs = objective, batches, list(runs)
        groups: dict[tuple[int, object], list[int]] = {}
        for place, run in enumerate(runs):
            groups.setdefault((id(run.kernels), run.order), []).append(place)
        order = [place for group in groups.values() for place in group]
        self._sorted = [runs[place] for place in order]
        self._places = order
        self._order = torch.tensor(order, device=runs[0].a.device)
        self._back, self._in_order = self._order.argsort(), order == sorted(order)
        self._blocks = self._blocked([*groups.values()])
        self.a = torch.stack([run.a for run in self._sorted])
        for place, run in enumerate(self._sorted):
            run.a.data = self.a[place]
        self.update = type(runs[0].update).of_members(
            [run.update for run in self._sorted], [self.a.requires_grad_()]
        )

    def _blocked(self, groups: Sequence[Sequence[int]]) -> list[_Block]:
        """One block where every kernel has as many runs and is in memory, else one for each."""
        on_disk = any(run.kernels.on_disk for run in self._runs)
        alike = len({len(group) for group in groups}) == 1 and not on_disk
        blocks, first = [], 0
        for part in [groups] if alike else [[group] for group in groups]:
            kernels = [self._runs[group[0]].kernels for group in part]
            count = sum(map(len, part))
            blocks.append(
                _Block(
                    kernels,
                    _stacked([kernel.train for kernel in kernels]),
                    _stacked([kernel.start("train") for kernel in kernels]),
                    slice(first, first + count),
                    len(part[0]),
                )
            )
            first += count
        return blocks

    @torch.no_grad()
    def compute(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        """Take in the slopes of every run; outputs (M, b, c), targets (M, b, ...), mean losses."""
        drawn = targets = self.batches.targets(step)
        # (M, b): which training examples, None for all of them.
        numbers = None if self.batches.full else self.batches.numbers(step)
        if not self._in_order:
            targets = targets[self._order]
            numbers = None if numbers is None else numbers[self._order]
        of_blocks = [
            block.outputs(self.a[block.runs], None if numbers is None else numbers[block.runs])
            for block in self._blocks
        ]
        outputs = of_blocks[0] if len(of_blocks) == 1 else torch.cat(of_blocks)
        losses, slopes = self.objective.losses_and_slopes(outputs, targets)
        self.update.take([self._placed(slopes / slopes.shape[1], numbers)])
        for run in self._sorted:
            run.update.updates = self.update.updates
        means = losses.mean(1)
        if not self._in_order:
            outputs, means = outputs[self._back], means[self._back]
        return outputs, drawn, means

    def _placed(self, slopes: Tensor, numbers: Tensor | None) -> Tensor:
        """(M, N): the slopes in the places of their examples."""
        if numbers is None:
            return slopes.flatten(1)
        runs, examples, outputs = slopes.shape
        placed = torch.zeros_like(self.a).view(runs, -1, outputs)
        places = numbers.unsqueeze(2).expand(runs, examples, outputs)
        return placed.scatter_(1, places, slopes).flatten(1)

    def apply(self, lrs: Sequence[float]) -> None:
        """Change the coefficients, every run's by its own rate."""
        self.update.apply(one_or_each([lrs[place] for place in self._places], self.a))

    def release(self) -> None:
        """Give the runs tensors of their own again."""
        for run in self._runs:
            run.a.data = run.a.data.clone()
            run.update.own_memory()


def _stacked(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors along a new first dimension; a single one is not copied."""
    return tensors[0].unsqueeze(0) if len(tensors) == 1 else torch.stack(list(tensors))
