"""A network trained on a data set: one minibatch an update."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

from torch import Tensor, nn

from ntkexp.config import BatchNorm, TrainConfig
from ntkexp.data.batches import Batches, crop_flip
from ntkexp.data.image_options import Augment
from ntkexp.errors import Diverged
from ntkexp.optim import Schedule
from ntkexp.optim.update import WeightUpdate
from ntkexp.probes import Forward, NetworkView, Probe, Update
from ntkexp.results.table import STEP, Table, float64, string
from ntkexp.training.captured import Captured
from ntkexp.training.checkpoint import saved
from ntkexp.training.evaluate import EVALS, evaluate
from ntkexp.training.layout import quick_layout
from ntkexp.training.prepared import Prepared
from ntkexp.training.recorder import STEPS, Recorder
from ntkexp.training.schedule import learning_rate
from ntkexp.training.work import Kept, Written

EVENTS = Table(
    "events",
    "a look off the schedule: at this step the training loss (of the whole set in full-batch "
    "training, else the running mean of minibatches) was first seen below the threshold",
    {
        "step": STEP,
        "event": string("`train_loss`"),
        "threshold": float64("the loss, one of `probing.losses`"),
    },
)
TABLES = (STEPS, EVALS, EVENTS)
# So long updates go on before the loop is asked what else there is to do.
BURST_SECONDS = 0.2


class Supervised:
    """Trains `prepared.model` until it has fitted the training set or is at the limit of steps."""

    offers = frozenset({"outputs", "network", "kernel", "labels", "examples", "updates"})

    @staticmethod
    def tables(config: TrainConfig) -> list[Table]:
        return list(TABLES if config.probing.losses else (STEPS, EVALS))

    def __init__(self, prepared: Prepared, update: WeightUpdate) -> None:
        self.config, self.dataset, self.model = prepared.config, prepared.dataset, prepared.model
        self.transformed = prepared.transformed
        self.objective, self.update = prepared.objective, update
        self.probes, self.probe_batches = prepared.probes, prepared.batches
        self.device = self.dataset.train.inputs.device
        self.layout = quick_layout(self.model, self.device)
        self.batches = Batches(
            len(self.dataset.train.targets),
            self.config.optim.batch_size,
            self.config.seed,
            self.device,
        )
        self.recorder = Recorder()
        self.last = self._last_step()
        self.step, self.evaluated = 0, -1
        # How many evaluations in a row have found the training loss below the stopping loss.
        self.below = 0
        # The losses at which to look, falling, and how many of them were passed.
        self._thresholds = sorted(set(self.config.probing.losses), reverse=True)
        self.crossed = 0
        self._captured: Captured | None = None

    @property
    def fitted(self) -> bool:
        return self.below >= self.config.optim.stop_patience

    @property
    def over(self) -> bool:
        return self.step >= self.last or self.fitted

    @property
    def figures(self) -> Mapping[str, float]:
        return self.recorder.latest

    def advance(self, to: int) -> str | None:
        until = time.monotonic() + BURST_SECONDS
        while self.step < to and not self.found_fitted():
            self._make_step()
            if (event := self.crossing()) is not None:
                return event
            if time.monotonic() >= until:
                break
        return None

    def found_fitted(self) -> bool:
        """Whether the network has fitted the training set, evaluated where that is due."""
        if self._nearly_fitted():
            self._evaluate()
        return self.fitted

    @contextmanager
    def looked_at(self, event: str | None, *, scheduled: bool) -> Iterator[Sequence[NetworkView]]:
        if self.evaluated < self.step:
            self._evaluate()
        view = NetworkView(
            self.model,
            self.dataset,
            self.objective,
            kernel_of=self.transformed.kernel,
            batch_statistics=self.config.probing.batch_norm is BatchNorm.train,
            step=self.step,
            seed=self.config.seed,
            last=self.over,
            batches=self.probe_batches,
            event=event,
        )
        with _evaluating(self.model):
            yield [view]

    def rows(self) -> list[Written]:
        return self.recorder.rows()

    def state(self) -> dict[str, Any]:
        self.recorder.fetch()
        return {
            "step": self.step,
            "evaluated": self.evaluated,
            "below": self.below,
            "crossed": self.crossed,
            "recent_loss": self.recorder.recent_loss,
            # Clones: the weights may be part of a larger tensor, which would be saved whole.
            "model": {name: part.clone() for name, part in self.model.state_dict().items()},
            "optim": self.update.state(),
        }

    def restore(self, state: dict[str, Any], kept: Kept) -> None:
        self.step, self.evaluated = state["step"], state["evaluated"]
        self.below, self.crossed = state["below"], state["crossed"]
        self.recorder.recent_loss = state["recent_loss"]
        self.model.load_state_dict(state["model"])
        self.update.restore(state["optim"])

    def kept_files(self) -> Mapping[str, bytes]:
        return {}

    def files(self) -> Mapping[str, bytes]:
        # Copies: a weight may be part of a larger tensor, which would be saved whole.
        parts = self.model.state_dict().items()
        return {"weights.pt": saved({name: part.to("cpu", copy=True) for name, part in parts})}

    def minibatch(self, step: int) -> tuple[Tensor, Tensor]:
        """The examples of the update after `step` updates: a function of seed and step."""
        train = self.dataset.train
        inputs, targets = self.batches.take(step, train.inputs, train.targets)
        if self.dataset.augment is Augment.crop_flip:
            assert self.dataset.pad_value is not None
            inputs = crop_flip(inputs, self.dataset.pad_value, self.config.seed, step)
        return inputs.contiguous(memory_format=self.layout), targets

    def lr(self, step: int) -> float:
        return self.transformed.rate * learning_rate(self.config.optim, step, self.last)

    def before_update(self, lr: float) -> None:
        """Let the probes that want it see the coming update, of which dw is known by now."""
        watching = self._watching()
        if not watching:
            return
        update = Update(
            step=self.step,
            seed=self.config.seed,
            model=self.model,
            step_norm=self.update.step_norm(lr),
            batches=self.probe_batches,
        )
        # Setting the mode takes a tenth of a small network's step.
        looking = not all(probe.sees_forward() for probe in watching)
        with _evaluating(self.model) if looking else nullcontext():
            for probe in watching:
                self.recorder.watched(self.step, probe.before_update(update))

    def _make_step(self) -> None:
        watching = self._watching()
        inputs, targets = self.minibatch(self.step)
        lr = self.lr(self.step)
        if watching or not self._repeats(inputs):
            loss, accuracy = self._plain(inputs, targets, lr, watching)
        else:
            loss, accuracy = self._replayed(inputs, targets, lr)
        step, self.step = self.step, self.step + 1
        self.recorder.update(step, self.batches.epoch(step), lr, loss, accuracy)

    def _plain(
        self, inputs: Tensor, targets: Tensor, lr: float, watching: Sequence[Probe] = ()
    ) -> tuple[Tensor, ...]:
        """One update; the loss and accuracy of its minibatch before it."""
        outputs = self._forward(inputs, watching)
        loss = self.objective.losses(outputs, targets).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        self.update.compute()
        self.before_update(lr)
        self.update.apply(lr)
        return loss.detach(), self.objective.correct(outputs, targets).double().mean()

    def _repeats(self, inputs: Tensor) -> bool:
        """Whether this update is, but for its numbers, the same as most others on a GPU."""
        optim = self.config.optim
        return (
            self.config.cuda_graph
            and self.device.type == "cuda"
            and self.update.repeats
            and self.transformed.on_training_set is None
            and optim.schedule is Schedule.constant
            and len(inputs) == min(optim.batch_size or len(inputs), self.batches.examples)
        )

    def _replayed(self, inputs: Tensor, targets: Tensor, lr: float) -> tuple[Tensor, ...]:
        if self._captured is None:
            remembered = [part for parts in self.update.memory.values() for part in parts]
            state = [*self.model.state_dict().values(), *remembered]
            self._captured = Captured(lambda x, y: self._plain(x, y, lr), state, inputs, targets)
        return self._captured(inputs, targets)

    def _watching(self) -> list[Probe]:
        return [probe for probe in self.probes.values() if probe.watches(self.step)]

    def _forward(self, inputs: Tensor, watching: Sequence[Probe]) -> Tensor:
        with ExitStack() as stack:
            for probe in watching:
                stack.enter_context(probe.around_forward(self.model))
            outputs = self._outputs(inputs)
        for probe in watching:
            probe.on_forward(Forward(self.step, self.config.seed, self.model, inputs, outputs))
        return outputs

    def _outputs(self, inputs: Tensor) -> Tensor:
        """Those of the minibatch of the present step."""
        quick = self.transformed.on_training_set
        if quick is None or self.dataset.augment is not Augment.none:
            outputs: Tensor = self.model(inputs)
            return outputs
        return quick(inputs, self.batches.indices(self.step))

    def _evaluate(self) -> None:
        # The rows of the updates come before.
        self.recorder.fetch()
        config = self.config.evaluate
        with _evaluating(self.model):
            for name, split, examples in (
                ("train", self.dataset.train, config.train_examples),
                ("test", self.dataset.test, config.test_examples),
            ):
                found = evaluate(
                    self.model,
                    split,
                    self.objective,
                    examples=examples,
                    batch_size=config.batch_size,
                    subsets=config.subsets,
                    layout=self.layout,
                )
                for subset, (loss, accuracy) in found.items():
                    row = {"split": name, "subset": subset, "loss": loss, "accuracy": accuracy}
                    self.recorder.write("evals", {"step": self.step, **row})
                if name == "train":
                    self._judge(found["all"][0])
        self.evaluated = self.step

    def _judge(self, train_loss: float) -> None:
        if not math.isfinite(train_loss):
            raise Diverged(self.step, self.recorder.recent_loss)
        limit = self.config.optim.stop_loss
        self.below = self.below + 1 if limit is not None and train_loss < limit else 0

    @property
    def waits_for_a_loss(self) -> bool:
        """Whether there is a loss left at which to look: every update is then asked for its own."""
        return self.crossed < len(self._thresholds)

    @property
    def may_evaluate(self) -> bool:
        """Whether `found_fitted` may need the figures of all updates up to here."""
        limited = self.config.optim.stop_loss is not None
        return limited and self.ends_epoch() and self.step > self.evaluated

    def _nearly_fitted(self) -> bool:
        """Log-spaced looks are far apart late in a run: near the end of fitting, check each epoch.

        Twice the stopping loss on the running mean of minibatches is near; that mean is fetched
        from the device only now and then, at steps that depend on the step number alone.
        """
        if not self.may_evaluate:
            return False
        self.recorder.fetch()
        return self.recorder.recent_loss < 2 * (self.config.optim.stop_loss or 0.0)

    def crossing(self) -> str | None:
        """The loss, of the training set or the running mean of minibatches, that was first passed.

        The loss is that of before the update: the look shows the network one update later.
        """
        if not self.waits_for_a_loss:
            return None
        waited_for = self._thresholds[self.crossed :]
        self.recorder.fetch()
        full_batch = self.batches.steps_per_epoch == 1
        loss = self.recorder.latest["loss"] if full_batch else self.recorder.recent_loss
        passed = [threshold for threshold in waited_for if loss < threshold]
        for threshold in passed:
            row: dict[str, object] = {"step": self.step, "event": "train_loss"}
            self.recorder.write("events", row | {"threshold": threshold})
        self.crossed += len(passed)
        return f"train_loss below {passed[-1]}" if passed else None

    def ends_epoch(self) -> bool:
        return self.step % self.batches.steps_per_epoch == 0

    def _last_step(self) -> int:
        optim = self.config.optim
        limits = []
        if optim.steps is not None:
            limits.append(optim.steps)
        if optim.epochs is not None:
            limits.append(optim.epochs * self.batches.steps_per_epoch)
        return min(limits)


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
