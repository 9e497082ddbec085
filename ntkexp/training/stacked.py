"""Networks of one architecture that train in step as one stack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from ntkexp.compose.members import Columns
from ntkexp.errors import Diverged, UserError
from ntkexp.probes import View
from ntkexp.results.table import Table
from ntkexp.training.drawing import drawing_layers
from ntkexp.training.function_learner import FunctionLearner
from ntkexp.training.function_stack import FunctionStack
from ntkexp.training.members import Members
from ntkexp.training.network_learner import NetworkLearner
from ntkexp.training.recorder import AT_ONCE
from ntkexp.training.stack import Stack
from ntkexp.training.stacked_batches import StackedBatches
from ntkexp.training.stacked_mlp import StackedMLP, is_mlp
from ntkexp.training.supervised import Supervised
from ntkexp.training.work import Written
from ntkexp.transforms.functions.alpha_scaled import Heads, OnTrainingSet
from ntkexp.transforms.functions.linearised import Linearised


class StackedMembers(Members[Supervised]):
    """Each member is a `Supervised` of its own, with its data, batches and probes: it looks,
    evaluates and ends as it would alone. Only the updates are made together."""

    def __init__(
        self, works: Sequence[Supervised], columns: Sequence[Columns], tables: Sequence[Table]
    ) -> None:
        super().__init__(works, columns, tables)
        for work in works:
            refuse_what_mixes_examples(work)
            refuse_forward_observers(work)
            refuse_layers_that_draw(work)
        refuse_other_numbers_of_examples(works)
        refuse_other_transforms(works)
        self._together: list[int] = []
        self._stack: Stack | FunctionStack | None = None
        self._batches: StackedBatches | None = None
        self._heads: Heads | None = None
        self._waiting: list[tuple[tuple[int, int, Sequence[float]], Tensor, Tensor]] = []

    def _make_step(self, active: Sequence[int]) -> None:
        # A member may be found fitted here, or to have diverged.
        going = [m for m in active if self._goes_on(m)]
        if not going:
            return
        if going != self._together:
            self._restack(going)
        assert self._stack is not None and self._batches is not None
        works = [self.works[m] for m in going]
        step = works[0].step
        lrs = [work.lr(step) for work in works]
        outputs, targets, loss = self._compute(step)
        for work, lr in zip(works, lrs, strict=True):
            work.before_update(lr)
        self._stack.apply(lrs)
        hits = works[0].objective.correct(outputs.flatten(0, 1), targets.flatten(0, 1))
        accuracy = hits.double().view(outputs.shape[:2]).mean(1)
        self._waiting.append(((step, works[0].batches.epoch(step), lrs), loss, accuracy))
        for work in works:
            work.step += 1
        if len(self._waiting) == AT_ONCE or any(work.waits_for_a_loss for work in works):
            self._fetch()
        for m, work in zip(going, works, strict=True):
            if m in self.diverged:
                continue
            if (event := work.crossing()) is not None:
                self._events[m] = event
            elif work.over:
                self._events[m] = "over"

    def _compute(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        """Outputs, targets and mean losses of all minibatches, whose gradients are taken in."""
        assert self._batches is not None
        if isinstance(self._stack, FunctionStack):
            full = self._batches.works[0].batches.batch_size is None
            targets = self._batches.targets(step)
            numbers = None if full else self._batches.numbers(step)
            outputs, loss = self._stack.compute(numbers, targets)
            return outputs, targets, loss
        assert self._stack is not None
        inputs, targets = self._batches.take(step)
        head = None if self._heads is None else self._heads.at(self._batches.numbers(step))
        outputs, loss = self._stack.compute(inputs, targets, head)
        return outputs, targets, loss

    def _goes_on(self, m: int) -> bool:
        """Let a member evaluate itself where that is due; whether it has another update to make."""
        work = self.works[m]
        if not work.may_evaluate:
            return True
        self._fetch()
        try:
            if m not in self.diverged and not work.found_fitted():
                return True
        except Diverged as error:
            self._end(m, error)
            return False
        if m not in self.diverged:
            self._events[m] = "over"
        return False

    def _restack(self, going: list[int]) -> None:
        self._fetch()
        if self._stack is not None:
            self._stack.release()
        self._together = going
        works = [self.works[m] for m in going]
        self._batches = StackedBatches(works)
        self._stack, self._heads = self._stacked(works)

    @staticmethod
    def _stacked(works: Sequence[Supervised]) -> tuple[Stack | FunctionStack, Heads | None]:
        objective = works[0].objective
        learners = [work.learner for work in works]
        in_function_space = [one for one in learners if isinstance(one, FunctionLearner)]
        if in_function_space:
            return FunctionStack([one.coefficients for one in in_function_space], objective), None
        scaled = [one for work in works if (one := scaled_of(work)) is not None]
        models = [one.module.network for one in scaled] or [work.model for work in works]
        kind = StackedMLP if all(map(is_mlp, models)) else Stack
        stack = kind(models, [work.update for work in works], objective)
        return stack, Heads(scaled) if scaled else None

    def _fetch(self) -> None:
        """Hand every member the figures of its minibatches; those that diverged end here."""
        if not self._waiting:
            return
        losses = torch.stack([loss for _, loss, _ in self._waiting], dim=1).double().tolist()
        accuracies = torch.stack([hits for _, _, hits in self._waiting], dim=1).tolist()
        told = [facts for facts, _, _ in self._waiting]
        self._waiting.clear()
        for row, m in enumerate(self._together):
            own = [(step, epoch, lrs[row]) for step, epoch, lrs in told]
            try:
                self.works[m].recorder.take(own, losses[row], accuracies[row])
            except Diverged as error:
                self._end(m, error)

    @contextmanager
    def looked_at(self, event: str | None, *, scheduled: bool) -> Iterator[Sequence[View]]:
        self._fetch()
        with super().looked_at(event, scheduled=scheduled) as views:
            yield views

    def rows(self) -> list[Written]:
        self._fetch()
        return super().rows()

    def state(self) -> dict[str, Any]:
        self._fetch()
        return super().state()

    def files(self) -> Mapping[str, bytes]:
        if self._stack is not None:
            self._stack.release()
            self._stack, self._together = None, []
        return super().files()


def scaled_of(work: Supervised) -> OnTrainingSet | None:
    """What scales the outputs of a network, which then stands in the stack itself."""
    found = work.transformed.on_training_set
    return found if isinstance(found, OnTrainingSet) else None


def refuse_other_transforms(works: Sequence[Supervised]) -> None:
    """A stack has one architecture; the outputs of all or of none are scaled."""
    if len({work.config.transform.name for work in works}) > 1:
        raise UserError("members.transform: differs; expected one transform for all")
    for work in works:
        if isinstance(work.learner, NetworkLearner) and isinstance(work.model, Linearised):
            raise UserError(
                "members: transform=linearise by forward mode has one network a run; expected a "
                "sweep (-m)"
            )
        if scaled_of(work) is not None and not work.dataset.sees_examples_as_they_are:
            raise UserError(
                "members: transform=alpha_scale knows the first outputs of examples as they are; "
                "expected data without a stream and data.augment=none, or a sweep (-m)"
            )


def refuse_what_mixes_examples(work: Supervised) -> None:
    """Running statistics are no function of the weights: they cannot be stacked with them."""
    for name, _ in work.model.named_buffers():
        raise UserError(
            f"members: the network has running statistics ({name}), which cannot be stacked; "
            "take model.norm=none, or a sweep (-m)"
        )


def refuse_layers_that_draw(work: Supervised) -> None:
    """In a stack all networks would draw from one stream: none would be as it is alone."""
    for name in drawing_layers(work.model):
        raise UserError(f"members: layer {name} draws at random; expected a sweep (-m)")


def refuse_forward_observers(work: Supervised) -> None:
    """The forward is that of the stack: no member has one of its own to look at."""
    for name, probe in work.probes.items():
        if probe.sees_forward():
            raise UserError(
                f"members: probe.{name} looks at the forward of each minibatch; "
                "take probe.complexity.batch=fixed, or a sweep (-m)"
            )


def refuse_other_numbers_of_examples(works: Sequence[Supervised]) -> None:
    if len({(work.batches.examples, work.batches.batch_size) for work in works}) > 1:
        raise UserError(
            "members: train in step, so all have one optim.batch_size and as many training "
            "examples; take a sweep (-m)"
        )
