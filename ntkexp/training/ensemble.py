"""Many small networks of one architecture, trained in step as one stack.

Each member is a `Trainer` of its own, with its data, batches, probes, tables and checkpoint: it
looks, evaluates, commits and ends as it would alone. Only the updates are made together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ntkexp.errors import Diverged, Interrupted, UserError
from ntkexp.models.objective import correct
from ntkexp.progress import Progress
from ntkexp.training.loop import TRACE_STEPS, Trainer
from ntkexp.training.schedule import learning_rate
from ntkexp.training.stack import Stack
from ntkexp.training.stacked_batches import StackedBatches
from ntkexp.training.stacked_mlp import StackedMLP, is_mlp

# Called when a member's training is over: with the error if it diverged.
Ended = Callable[[int, Diverged | None], None]


@dataclass
class Member:
    index: int
    trainer: Trainer

    @property
    def step(self) -> int:
        return self.trainer.clock.step


class Ensemble:
    """Trains all `trainers` to their ends; `ended(index, error)` hears of each one's."""

    def __init__(self, trainers: Sequence[Trainer], ended: Ended) -> None:
        self.members = [Member(index, trainer) for index, trainer in enumerate(trainers)]
        for member in self.members:
            refuse_what_mixes_examples(member.trainer)
            refuse_what_hears(member.trainer)
        self.active: list[Member] = []
        self.ended = ended
        self._trace: list[tuple[int, Tensor, Tensor]] = []

    def train(self, stop_asked: Callable[[], bool], *, progress: bool) -> None:
        last = max(member.trainer.last for member in self.members)
        start = min(member.step for member in self.members)
        label = f"{len(self.members)} networks"
        with Progress(label, last, start=start, shown=progress) as self.progress:
            while self.members:
                self._train_together(stop_asked)

    def _train_together(self, stop_asked: Callable[[], bool]) -> None:
        """Update the members furthest behind as one stack, until one ends or they meet the next.

        Mostly these are all there are; after a kill between two commits some have to catch up.
        """
        first = min(member.step for member in self.members)
        ahead = [member.step for member in self.members if member.step > first]
        self.active = [m for m in self.members if m.step == first and self._goes_on(m)]
        if not self.active:
            return
        models = [member.trainer.model for member in self.active]
        sgds = [member.trainer.sgd for member in self.active]
        stack = (StackedMLP if all(map(is_mlp, models)) else Stack)(models, sgds)
        batches = StackedBatches([member.trainer for member in self.active])
        while len(self.active) == stack.count and self.active[0].step not in ahead:
            if (stopping := stop_asked()) or self.active[-1].trainer.commit_due():
                self._commit()
                if stopping:
                    raise Interrupted
            else:
                self._update(stack, batches)
                self._pause()
        self._fetch_trace()
        stack.release(models, sgds)

    def _pause(self) -> None:
        """Where a member may have something to do, let all do what they have."""
        pauses = any(member.trainer.pauses() for member in self.active)
        if pauses or len(self._trace) == TRACE_STEPS:
            self._fetch_trace()
        if pauses:
            self.active = [member for member in self.active if self._goes_on(member)]

    def _goes_on(self, member: Member) -> bool:
        """Let a member look; whether it has another update to make. If not, it is over."""
        try:
            if member.trainer.goes_on():
                return True
            member.trainer.conclude()
        except Diverged as error:
            self._end(member, error)
        else:
            self._end(member, None)
        return False

    def _end(self, member: Member, error: Diverged | None) -> None:
        self.members.remove(member)
        self.ended(member.index, error)

    def _commit(self) -> None:
        self._fetch_trace()
        for member in self.active:
            member.trainer.commit()

    def _update(self, stack: Stack, batches: StackedBatches) -> None:
        step = self.active[0].step
        inputs, targets = batches.take(step)
        lrs = [learning_rate(m.trainer.config.optim, step, m.trainer.last) for m in self.active]
        outputs, loss = stack.accelerate(inputs, targets)
        for member, lr in zip(self.active, lrs, strict=True):
            member.trainer.watch(lr)
        stack.move(lrs)
        hits = correct(outputs.flatten(0, 1), targets.flatten()).view(targets.shape)
        self._trace.append((step, loss, hits.double().mean(1)))
        for member in self.active:
            member.trainer.clock.step += 1

    def _fetch_trace(self) -> None:
        """Hand every member the figures of its minibatches; those that diverged end here."""
        if not self._trace:
            return
        steps = [step for step, _, _ in self._trace]
        loss = torch.stack([loss for _, loss, _ in self._trace], dim=1).double().tolist()
        accuracy = torch.stack([hits for _, _, hits in self._trace], dim=1).tolist()
        self._trace.clear()
        active, self.active = self.active, []
        for row, member in enumerate(active):
            try:
                member.trainer.record(steps, loss[row], accuracy[row])
                self.active.append(member)
            except Diverged as error:
                self._end(member, error)
        self.progress.advance(len(steps), loss=sum(row[-1] for row in loss) / len(loss))


def refuse_what_mixes_examples(trainer: Trainer) -> None:
    """Running statistics are no function of the weights: they cannot be stacked with them."""
    for name, _ in trainer.model.named_buffers():
        raise UserError(
            f"launcher=ensemble: the network has running statistics ({name}); "
            "take model.norm=none or launcher=local"
        )


def refuse_what_hears(trainer: Trainer) -> None:
    """The forward is that of the stack: no member has one of its own to listen to."""
    for name, probe in trainer.probes.items():
        if probe.hears():
            raise UserError(
                f"launcher=ensemble: probe.{name} looks at the forward of each minibatch; "
                "take probe.complexity.batch=fixed or launcher=local"
            )
