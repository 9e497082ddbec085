"""A network trained on a data set: one minibatch an update."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from torch import nn

from ntkexp.checkpoint import saved
from ntkexp.config import TrainConfig
from ntkexp.data.batches import Batches, Endless
from ntkexp.errors import Diverged, UserError
from ntkexp.objectives.evaluate import ALWAYS, EVALS, METRICS
from ntkexp.optim.update import WeightUpdate
from ntkexp.probes import NetworkView, Probe
from ntkexp.probes.view import evaluating
from ntkexp.results.table import STEP, Table, float64, string
from ntkexp.training.learners.learner import Learner
from ntkexp.training.learners.network import NetworkLearner
from ntkexp.training.prepared import NetworkOnData
from ntkexp.training.recorder import STEPS, Recorder
from ntkexp.training.schedule import last_step, learning_rate, limit_that_holds
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
TABLES = (STEPS, EVALS, EVENTS, METRICS)
OFFERS = frozenset(
    {"outputs", "network", "layers", "activations", "kernel", "labels", "examples", "updates"}
    | {"training", "optimiser"}
)
# Updates go on for so many seconds before the loop looks what else there is to do.
BURST_SECONDS = 0.2
MakeLearner = Callable[[NetworkOnData, Batches | Endless], Learner]
ROUTES: Mapping[str, MakeLearner] = {NetworkLearner.route: NetworkLearner}


class Supervised:
    """Trains `prepared.model` until it has fitted the training set or reached the limit of steps;
    with `optim.stop_after_losses`, until every loss of `probing.losses` has had its look.

    Updates are made by one of `routes`: the one named `route` or, in a run that goes on, the one by
    which it began.
    """

    @staticmethod
    def tables(config: TrainConfig) -> list[Table]:
        words = {
            "subset": (*ALWAYS, *config.evaluate.subsets),
            "metric": tuple(config.evaluate.metrics),
        }
        evals, metrics = (table.with_choices(words) for table in (EVALS, METRICS))
        optional = ((EVENTS, config.probing.losses), (metrics, config.evaluate.metrics))
        return [STEPS, evals, *(table for table, wanted in optional if wanted)]

    def __init__(
        self,
        prepared: NetworkOnData,
        routes: Mapping[str, MakeLearner] = ROUTES,
        route: str = NetworkLearner.route,
    ) -> None:
        self.prepared, self.routes = prepared, routes
        self.config, self.dataset = prepared.config, prepared.dataset
        self.transformed, self.objective = prepared.transformed, prepared.objective
        self.probes = prepared.probes
        self.batches = batches_of(prepared)
        self.learner = routes[route](prepared, self.batches)
        self.offers = OFFERS - self.config.transform.hides - self.learner.hides
        self.recorder = Recorder(self.config.keep.updates)
        self.last = last_step(self.config.optim, self.batches.steps_per_epoch)
        self.limit = limit_that_holds(self.config.optim, self.batches.steps_per_epoch)
        self.step, self.evaluated = 0, -1
        # How many evaluations in a row have found the training loss below the stopping loss.
        self.below = 0
        # The losses at which to look, falling, and how many of them were passed.
        self._thresholds = sorted(set(self.config.probing.losses), reverse=True)
        self.crossed = 0

    @property
    def model(self) -> nn.Module:
        return self.learner.model

    @property
    def update(self) -> WeightUpdate:
        return self.learner.update

    @property
    def fitted(self) -> bool:
        return self.below >= self.config.optim.stop_patience

    @property
    def over(self) -> bool:
        return self.step >= self.last or self.fitted or self._passed_all

    @property
    def _passed_all(self) -> bool:
        """True if training ends because all losses of `probing.losses` have been passed."""
        return self.config.optim.stop_after_losses and not self.waits_for_a_loss

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
        """True if the network has fitted the training set; it is evaluated where that is due."""
        if self._nearly_fitted():
            self._evaluate()
        return self.fitted

    def _nearly_fitted(self) -> bool:
        """True if the network is close to fitted, so that it is evaluated after every epoch.

        Log-spaced looks are far apart late in a run. Close means that the running mean of the
        minibatch losses is below twice the stopping loss. That mean is fetched from the device only
        now and then, at steps that depend on the step number alone.
        """
        if not self.may_evaluate:
            return False
        self.recorder.fetch()
        return self.recorder.recent_loss < 2 * (self.config.optim.stop_loss or 0.0)

    @property
    def may_evaluate(self) -> bool:
        """True if `found_fitted` may need the figures of all updates up to here."""
        limited = self.config.optim.stop_loss is not None
        ends_epoch = self.step % self.batches.steps_per_epoch == 0
        return limited and ends_epoch and self.step > self.evaluated

    def _evaluate(self) -> None:
        # The rows of the updates come before.
        self.recorder.fetch()
        for split in ("train", "test"):
            by_subset = self.learner.evaluate(split)
            for subset, (loss, accuracy, *values) in by_subset.items():
                key = {"step": self.step, "split": split, "subset": subset}
                self.recorder.write(EVALS.name, {**key, "loss": loss, "accuracy": accuracy})
                for name, value in zip(self.config.evaluate.metrics, values, strict=True):
                    self.recorder.write(METRICS.name, {**key, "metric": name, "value": value})
            if split == "train":
                self._judge(by_subset["all"][0])
        self.evaluated = self.step

    def _judge(self, train_loss: float) -> None:
        if not math.isfinite(train_loss):
            raise self.recorder.diverged(self.step)
        limit = self.config.optim.stop_loss
        self.below = self.below + 1 if limit is not None and train_loss < limit else 0

    def _make_step(self) -> None:
        lr = self.lr(self.step)
        try:
            loss, accuracy = self.learner.step(self.step, lr, self._watching(), self.before_update)
        except Diverged:
            # The rows until then; and a loss that was not finite before is what happened.
            self.recorder.fetch()
            raise
        step, self.step = self.step, self.step + 1
        self.recorder.update(step, self.batches.epoch(step), lr, loss, accuracy)

    def lr(self, step: int) -> float:
        planned = learning_rate(self.config.optim, step, self.last)
        return self.transformed.rate * self.update.rate(planned)

    def _watching(self) -> list[Probe]:
        return [probe for probe in self.probes.values() if probe.watches(self.step)]

    def before_update(self, lr: float) -> None:
        """Let the probes that asked for it see the coming update, whose change dw is known by
        now."""
        watching = self._watching()
        if not watching:
            return
        update = self.learner.update_to_see(self.step, lr)
        # Setting the mode takes a tenth of a small network's step.
        looking = not all(probe.sees_forward() for probe in watching)
        try:
            with evaluating(self.model) if looking else nullcontext():
                for probe in watching:
                    self.recorder.watched(self.step, probe.before_update(update))
        except UserError:
            # What a probe refuses of a network that has diverged is no mistake of the user's.
            self.recorder.fetch()
            self._judge(self.learner.evaluate("train")["all"][0])
            raise

    def crossing(self) -> str | None:
        """An event if the loss (of the training set, or the running mean of minibatches) has passed
        thresholds.

        The loss is that of before the update: the look shows the network one update later.
        """
        if not self.waits_for_a_loss:
            return None
        ahead = self._thresholds[self.crossed :]
        self.recorder.fetch()
        recorder = self.recorder
        loss = recorder.latest["loss"] if self.batches.are_full else recorder.recent_loss
        passed = [threshold for threshold in ahead if loss < threshold]
        for threshold in passed:
            row: dict[str, object] = {"step": self.step, "event": "train_loss"}
            self.recorder.write("events", row | {"threshold": threshold})
        self.crossed += len(passed)
        return f"train_loss below {passed[-1]}" if passed else None

    @property
    def waits_for_a_loss(self) -> bool:
        """True if a loss of `probing.losses` is still ahead: then every update's loss is
        fetched."""
        return self.crossed < len(self._thresholds)

    @property
    def waited_for(self) -> float:
        """The next loss at which to look; where none is left, a value that no loss is below."""
        return self._thresholds[self.crossed] if self.waits_for_a_loss else -math.inf

    @contextmanager
    def looked_at(self, event: str | None, *, scheduled: bool) -> Iterator[Sequence[NetworkView]]:
        if self.evaluated < self.step:
            self._evaluate()
        view = self.learner.view(step=self.step, last=self.over, event=event)
        with evaluating(self.model):
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
            "route": self.learner.route,
            **self.learner.state(),
        }

    def restore(self, state: dict[str, Any], kept: Kept) -> None:
        self.step, self.evaluated = state["step"], state["evaluated"]
        self.below, self.crossed = state["below"], state["crossed"]
        self.recorder.recent_loss = state["recent_loss"]
        route = state.get("route", NetworkLearner.route)
        if route != self.learner.route:
            print(f"goes on by the route of its checkpoint: {route}", file=sys.stderr)
            self.learner = self.routes[route](self.prepared, self.batches)
        self.learner.restore(state)

    def kept_files(self) -> Mapping[str, bytes]:
        return {}

    def files(self) -> Mapping[str, bytes]:
        # Copies: a weight may be part of a larger tensor, which would be saved whole.
        weights = self.learner.weights().items()
        return {"weights.pt": saved({name: w.to("cpu", copy=True) for name, w in weights})}


def batches_of(prepared: NetworkOnData) -> Batches | Endless:
    """The examples of each update: minibatches of the training set, or of a stream."""
    optim, dataset = prepared.config.optim, prepared.dataset
    if dataset.stream is None:
        count, device = len(dataset.train), dataset.train.inputs.device
        return Batches(count, optim.batch_size, prepared.config.seed, device, optim.drop_last)
    if optim.batch_size is None or optim.epochs is not None:
        key, wanted = ("batch_size", "a number") if optim.batch_size is None else ("epochs", "null")
        raise UserError(
            f"optim.{key}={getattr(optim, key)}: {dataset.name} is a stream, without an end and "
            f"without epochs; expected {wanted}, and optim.steps"
        )
    return Endless(dataset.stream, optim.batch_size)
