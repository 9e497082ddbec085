"""The training loop, on one page: look, update, commit; and how it comes back after a kill."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ntkexp.data.batches import Batches, crop_flip
from ntkexp.data.image_options import Augment
from ntkexp.errors import Diverged, Interrupted
from ntkexp.models.objective import correct, losses
from ntkexp.optim import Schedule
from ntkexp.probes import Forward, Moment, Probe, Rows, Update
from ntkexp.progress import Progress
from ntkexp.results import Run, Table
from ntkexp.training.captured import Captured
from ntkexp.training.evaluate import evaluate
from ntkexp.training.layout import quick_layout
from ntkexp.training.prepared import Prepared
from ntkexp.training.saving import restored, saved
from ntkexp.training.schedule import learning_rate, probe_steps

STEPS = Table(
    "steps",
    "one update: loss and accuracy of its minibatch before the update, and its learning rate",
    {
        "step": "int64",
        "epoch": "int64",
        "train_loss": "float64",
        "train_acc": "float64",
        "lr": "float64",
    },
)
EVALS = Table(
    "evals",
    "loss and accuracy of the network at a step on fixed examples of a split",
    {
        "step": "int64",
        "split": "string",
        "subset": "string",
        "loss": "float64",
        "accuracy": "float64",
    },
)
TABLES = (STEPS, EVALS)

# Minibatch figures stay on the device until this many are there: fetching each would make a
# GPU wait for every step.
TRACE_STEPS = 64
# The running mean of the minibatch loss forgets by this factor a step.
MEMORY = 0.9


@dataclass
class Clock:
    """Where training is. All of it goes into the checkpoint."""

    step: int = 0
    looked: int = -1
    evaluated: int = -1
    below: int = 0
    recent_loss: float = math.inf


class Trainer:
    """Trains `model` on `dataset` and writes what happens to `run`."""

    def __init__(self, prepared: Prepared, run: Run, checkpoint: bytes | None = None) -> None:
        config, dataset, model = prepared.config, prepared.dataset, prepared.model
        self.config, self.dataset, self.model, self.run = config, dataset, model, run
        self.progress = Progress("training", 0, shown=False)
        self.probes, self.probe_batches = prepared.probes, prepared.batches
        self.sgd = config.optim.build(model.parameters())
        self.device = dataset.train.inputs.device
        self.layout = quick_layout(model, self.device)
        self.batches = Batches(
            len(dataset.train.targets), config.optim.batch_size, config.seed, self.device
        )
        self.last = self._last_step()
        self.looks = probe_steps(config.probing, self.last)
        self.clock = Clock()
        self._captured: Captured | None = None
        self._trace: list[tuple[int, Tensor, Tensor]] = []
        self._watched: list[tuple[int, Rows]] = []
        self._committed_at = time.monotonic()
        if checkpoint is not None:
            self._restore(checkpoint)

    def train(self, stop_asked: Callable[[], bool]) -> None:
        """Go on from wherever the run is to its end: fitted, or at the limit of steps."""
        with Progress(
            "training", self.last, start=self.clock.step, shown=self.config.progress
        ) as self.progress:
            self._train(stop_asked)

    def _train(self, stop_asked: Callable[[], bool]) -> None:
        while self.goes_on():
            if stop_asked():
                self.commit()
                raise Interrupted
            if self.commit_due():
                self.commit()
            self._update()
        self.conclude()

    def goes_on(self) -> bool:
        """Look and evaluate where that is due; whether there is another update to make."""
        if self._look_due():
            self._look()
        elif self._nearly_fitted():
            self._evaluate()
        return self.clock.step < self.last and not self._fitted()

    def conclude(self) -> None:
        """The last look, if the run ended between two."""
        if self.clock.looked < self.clock.step:
            self._look(last=True)
        self._fetch_trace()

    def _update(self) -> None:
        step = self.clock.step
        watching = self._watching()
        inputs, targets = self.minibatch(step)
        lr = learning_rate(self.config.optim, step, self.last)
        if watching or not self._repeats(inputs):
            loss, accuracy = self._plain(inputs, targets, lr, watching)
        else:
            loss, accuracy = self._replayed(inputs, targets, lr)
        self._trace.append((step, loss, accuracy))
        self.clock.step += 1
        if len(self._trace) == TRACE_STEPS:
            self._fetch_trace()

    def _plain(
        self, inputs: Tensor, targets: Tensor, lr: float, watching: Sequence[Probe] = ()
    ) -> tuple[Tensor, ...]:
        """One update; the loss and accuracy of its minibatch before it."""
        outputs = self._forward(inputs, watching)
        loss = losses(outputs, targets).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        self.sgd.accelerate()
        self.watch(lr)
        self.sgd.move(lr)
        return loss.detach(), correct(outputs, targets).double().mean()

    def _repeats(self, inputs: Tensor) -> bool:
        """Whether this update is, but for its numbers, the same as most others on a GPU."""
        optim = self.config.optim
        return (
            self.config.cuda_graph
            and self.device.type == "cuda"
            and optim.schedule is Schedule.constant
            and len(inputs) == min(optim.batch_size or len(inputs), self.batches.examples)
        )

    def _replayed(self, inputs: Tensor, targets: Tensor, lr: float) -> tuple[Tensor, ...]:
        if self._captured is None:
            state = [*self.model.state_dict().values(), *self.sgd.velocity]
            self._captured = Captured(lambda x, y: self._plain(x, y, lr), state, inputs, targets)
        return self._captured(inputs, targets)

    def minibatch(self, step: int) -> tuple[Tensor, Tensor]:
        train = self.dataset.train
        inputs, targets = self.batches.take(step, train.inputs, train.targets)
        if self.dataset.augment is Augment.crop_flip:
            assert self.dataset.pad_value is not None
            inputs = crop_flip(inputs, self.dataset.pad_value, self.config.seed, step)
        return inputs.contiguous(memory_format=self.layout), targets

    def _watching(self) -> list[Probe]:
        return [probe for probe in self.probes.values() if probe.watches(self.clock.step)]

    def _forward(self, inputs: Tensor, watching: Sequence[Probe]) -> Tensor:
        with ExitStack() as stack:
            for probe in watching:
                stack.enter_context(probe.listening(self.model))
            outputs: Tensor = self.model(inputs)
        for probe in watching:
            probe.hear(Forward(self.clock.step, self.config.seed, self.model, inputs, outputs))
        return outputs

    def watch(self, lr: float) -> None:
        """Let the probes that want it see the coming update, of which dw is known by now."""
        watching = self._watching()
        if not watching:
            return
        update = Update(
            step=self.clock.step,
            seed=self.config.seed,
            model=self.model,
            step_norm=self.sgd.step_norm(lr),
            batches=self.probe_batches,
        )
        # Setting the mode takes a tenth of a small network's step.
        looking = not all(probe.hears() for probe in watching)
        with _evaluating(self.model) if looking else nullcontext():
            self._watched += [(self.clock.step, probe.watch(update)) for probe in watching]

    def _look(self, *, last: bool = False) -> None:
        self._fetch_trace()
        self.progress.doing("evaluation")
        if self.clock.evaluated < self.clock.step:
            self._evaluate()
        moment = Moment(
            step=self.clock.step,
            seed=self.config.seed,
            last=last or self.clock.step >= self.last or self._fitted(),
            model=self.model,
            dataset=self.dataset,
            batches=self.probe_batches,
            batch_norm=self.config.probing.batch_norm,
        )
        with _evaluating(self.model):
            for name, probe in self.probes.items():
                self.progress.doing(name)
                self._add(probe.measure(moment))
        self.progress.doing("")
        self.clock.looked = self.clock.step

    def _evaluate(self) -> None:
        self._fetch_trace()
        config = self.config.evaluate
        with _evaluating(self.model):
            for name, split, examples in (
                ("train", self.dataset.train, config.train_examples),
                ("test", self.dataset.test, config.test_examples),
            ):
                found = evaluate(
                    self.model,
                    split,
                    examples=examples,
                    batch_size=config.batch_size,
                    layout=self.layout,
                )
                for subset, (loss, accuracy) in found.items():
                    row = {"split": name, "subset": subset, "loss": loss, "accuracy": accuracy}
                    self._add({"evals": row})
                if name == "train":
                    self._judge(found["all"][0])
        self.clock.evaluated = self.clock.step

    def _judge(self, train_loss: float) -> None:
        if not math.isfinite(train_loss):
            raise Diverged(self.clock.step, self.clock.recent_loss)
        limit = self.config.optim.stop_loss
        self.clock.below = self.clock.below + 1 if limit is not None and train_loss < limit else 0

    def _fitted(self) -> bool:
        return self.clock.below >= self.config.optim.stop_patience

    def _look_due(self) -> bool:
        step = self.clock.step
        return step > self.clock.looked and (step in self.looks or step >= self.last)

    def _nearly_fitted(self) -> bool:
        """Log-spaced looks are far apart late in a run: near the end of fitting, check each epoch.

        Twice the stopping loss on the running mean of minibatches is near; that mean is fetched
        from the device only now and then, at steps that depend on the step number alone.
        """
        limit, clock = self.config.optim.stop_loss, self.clock
        return (
            limit is not None
            and clock.step > clock.evaluated
            and clock.step % self.batches.steps_per_epoch == 0
            and self._recent_loss() < 2 * limit
        )

    def pauses(self) -> bool:
        """Whether `goes_on` may need the figures of all updates up to here."""
        epoch_ends = self.clock.step % self.batches.steps_per_epoch == 0
        return self._look_due() or (epoch_ends and self.config.optim.stop_loss is not None)

    def _recent_loss(self) -> float:
        self._fetch_trace()
        return self.clock.recent_loss

    def _fetch_trace(self) -> None:
        """Move the waiting figures of minibatches and watched iterations into their tables."""
        if not self._trace:
            return
        self._fetch_watched()
        steps = [step for step, _, _ in self._trace]
        loss = torch.stack([loss for _, loss, _ in self._trace]).double().tolist()
        accuracy = torch.stack([accuracy for _, _, accuracy in self._trace]).tolist()
        self._trace.clear()
        self.record(steps, loss, accuracy)

    def record(self, steps: list[int], loss: list[float], accuracy: list[float]) -> None:
        """Take in the minibatch figures of updates; a loss that is no number ends the run."""
        finite = next((i for i, x in enumerate(loss) if not math.isfinite(x)), len(loss))
        for value in loss[:finite]:
            before = self.clock.recent_loss
            self.clock.recent_loss = (
                value if math.isinf(before) else MEMORY * before + (1 - MEMORY) * value
            )
        if finite:
            self._keep_steps(steps[:finite], loss[:finite], accuracy[:finite])
        if finite < len(loss):
            raise Diverged(steps[finite], self.clock.recent_loss)

    def _fetch_watched(self) -> None:
        columns: dict[str, dict[str, list[Any]]] = {}
        for step, rows in self._watched:
            for table, row in rows.items():
                found = columns.setdefault(table, {})
                for name, value in {"step": step, **row}.items():
                    found.setdefault(name, []).append(value)
        self._watched.clear()
        for table, found in columns.items():
            self.run.add(table, {name: _fetched(values) for name, values in found.items()})

    def _keep_steps(self, steps: list[int], loss: list[float], accuracy: list[float]) -> None:
        self.run.add(
            "steps",
            {
                "step": steps,
                "epoch": [self.batches.epoch(step) for step in steps],
                "train_loss": loss,
                "train_acc": accuracy,
                "lr": [learning_rate(self.config.optim, step, self.last) for step in steps],
            },
        )
        self.progress.advance(len(steps), loss=loss[-1], accuracy=accuracy[-1])

    def _add(self, rows: Rows) -> None:
        for table, columns in rows.items():
            self.run.add(table, {"step": self.clock.step, **columns})

    def commit_due(self) -> bool:
        return time.monotonic() - self._committed_at >= self.config.checkpoint.every_seconds

    def commit(self) -> None:
        """Write everything down: a life that ends now goes on from here."""
        self._fetch_trace()
        state = {
            "clock": asdict(self.clock),
            # Clones: the weights may be part of a larger tensor, which would be saved whole.
            "model": {name: part.clone() for name, part in self.model.state_dict().items()},
            "velocity": self.sgd.state(),
            "probes": {name: probe.state() for name, probe in self.probes.items()},
        }

        self.run.commit(saved(state))
        self._committed_at = time.monotonic()

    def _restore(self, checkpoint: bytes) -> None:
        state = restored(checkpoint, self.device)
        self.clock = Clock(**state["clock"])
        self.model.load_state_dict(state["model"])
        self.sgd.restore(state["velocity"])
        for name, probe in self.probes.items():
            probe.restore(state["probes"][name])

    def _last_step(self) -> int:
        optim = self.config.optim
        limits = []
        if optim.steps is not None:
            limits.append(optim.steps)
        if optim.epochs is not None:
            limits.append(optim.epochs * self.batches.steps_per_epoch)
        return min(limits)


def _fetched(values: list[Any]) -> list[Any]:
    """Scalars of one column as numbers: those on a device in one transfer, not one each."""
    if not isinstance(values[0], Tensor):
        return values
    numbers: list[Any] = torch.stack(values).tolist()
    return numbers


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Eval mode inside, every module's own mode again afterwards."""
    # Only what differs is set: model.eval() takes a tenth of a small network's step.
    modes = [(module, module.training) for module in model.modules()]
    for module, mode in modes:
        if mode:
            module.training = False
    try:
        yield
    finally:
        for module, mode in modes:
            if module.training is not mode:
                module.training = mode
