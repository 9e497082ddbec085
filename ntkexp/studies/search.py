"""One network trained from the same start at many learning rates and dampings (George's thesis,
Figure 4.3 d, and how its other settings were chosen).

ntkexp study -m +exp=curvature/search
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from omegaconf import MISSING
from torch import nn

from ntkexp import models
from ntkexp.data.base import Data
from ntkexp.data.batches import Batches
from ntkexp.errors import Diverged, UserError
from ntkexp.models import Model
from ntkexp.objectives import Objective
from ntkexp.objectives.evaluate import outputs_of
from ntkexp.optim import Optimiser
from ntkexp.optim.observer import observed_loss
from ntkexp.options import SEED, count, each, option, positive, whole
from ntkexp.results.table import STEP, Table, float64, int64, string
from ntkexp.seeds import generator
from ntkexp.studies.base import Study
from ntkexp.studies.stepped import Row, SteppedWork

if TYPE_CHECKING:
    from ntkexp.training.place import Place
    from ntkexp.training.work import Kept

SEARCH = Table(
    "search",
    "a network at the end of an epoch, trained at one point of the search",
    {
        "step": STEP,
        "point": int64("number of the point, from 0: first the grid, then those drawn"),
        "kind": string("`grid` or `drawn`"),
        "lr": float64("learning rate"),
        "damping": float64("of the optimiser; no number where it has none"),
        "epoch": int64("passes over the training examples"),
        "train_loss": float64("mean over the first training examples; infinite once it diverged"),
        "test_loss": float64("mean over the first test examples"),
    },
    notes="Steps count the updates of all points, one point after the other.",
)


@dataclass(frozen=True)
class Point:
    kind: str
    lr: float
    damping: float


@dataclass
class Search(Study):
    """All points of the grid `rates` x `dampings`, then `drawn` more, log-uniform between the least
    and the largest of both. A point that diverges is left where it is."""

    tables: ClassVar = (SEARCH,)
    may_be_infinite: ClassVar = {SEARCH.name: ("damping", "train_loss", "test_loss")}
    tiny: ClassVar = {"epochs": 1, "drawn": 1, "evaluated": 10}

    seed: int = option(0, SEED, "of the data, the first weights, the batches and the drawn points")
    data: Data = option(MISSING, about="the examples")
    model: Model = option(MISSING, about="the network that is trained")
    objective: Objective = option(MISSING, about="the loss that is lowered")
    optim: Optimiser = option(MISSING, about="the optimiser, but for its rate and damping")
    rates: list[float] = option([0.1, 0.01, 0.001], each(positive(), 1, once=True), "of the grid")
    dampings: list[float] = option([], each(positive(), once=True), "of the grid, if it has any")
    drawn: int = option(0, whole(0, 1000, "points"), "points beside the grid")
    epochs: int = option(20, count("epochs"), "of each point")
    evaluated: int = option(2000, count("examples"), "of each split, for the losses")

    def check(self, config: Any = None) -> None:
        if self.dampings and "damping" not in {field.name for field in fields(self.optim)}:
            raise UserError(
                f"study.dampings={self.dampings}: optim={self.optim.name} has no damping; "
                "expected []"
            )

    def points(self) -> list[Point]:
        dampings = self.dampings or [math.nan]
        grid = [Point("grid", *pair) for pair in product(self.rates, dampings)]
        shares = torch.rand(self.drawn, 2, generator=generator(self.seed, "points")).tolist()
        drawn = [
            Point("drawn", _between(self.rates, first), _between(dampings, second))
            for first, second in shares
        ]
        return grid + drawn

    def work(self, place: Place) -> Searching:
        return Searching(self, place)


def _between(values: list[float], share: float) -> float:
    least, most = min(values), max(values)
    return float(least * (most / least) ** share)


class Searching(SteppedWork):
    """One update a step, one point after the other."""

    def __init__(self, study: Search, place: Place) -> None:
        dataset = study.objective.seen(place.data(study.data, study.seed))
        self.study, self.place, self.dataset = study, place, dataset
        self.objective = study.objective.build(dataset.train.targets, dataset.classes)
        self.batches_of_steps = Batches(
            len(dataset.train), study.optim.batch_size, study.seed, place.device
        )
        self.points = study.points()
        self.updates_of_point = study.epochs * self.batches_of_steps.steps_per_epoch
        super().__init__(last=len(self.points) * self.updates_of_point, seed=study.seed)
        self.memory = {"diverged": False}

    def _begin(self, point: Point) -> None:
        study = self.study
        network = models.build(
            study.model, self.dataset.input_shape, self.objective.outputs, study.seed
        ).to(self.place.device)
        changed: dict[str, Any] = {"lr": point.lr}
        if study.dampings:
            changed["damping"] = point.damping
        optim = replace(study.optim, **changed)
        optim.refuse(network)
        self.networks = {"network": network}
        self.updates = {"network": optim.build_for(network, self.objective)}
        self.memory["diverged"] = False

    def restore(self, state: dict[str, Any], kept: Kept) -> None:
        point, update = divmod(state["step"], self.updates_of_point)
        if update:
            self._begin(self.points[point])
        super().restore(state, kept)

    def update(self, step: int) -> Row:
        number, update = divmod(step, self.updates_of_point)
        if update == 0:
            self._begin(self.points[number])
        loss = math.inf if self.memory["diverged"] else self._descend(update)
        # Some losses are finite for a while although the weights are not.
        self.memory["diverged"] = not math.isfinite(loss)
        epoch, left = divmod(update + 1, self.batches_of_steps.steps_per_epoch)
        if left == 0:
            self._evaluate(step + 1, number, epoch)
        return {"loss": loss}

    def _descend(self, update: int) -> float:
        train, network, of = self.dataset.train, self.networks["network"], self.updates["network"]
        x, y = self.batches_of_steps.take(update, train.inputs, train.targets)
        loss = observed_loss(network, of, x, y, self.objective, update, self.seed)
        try:
            loss.backward()  # type: ignore[no-untyped-call]
            of.compute()
            of.apply(of.rate(self.points[self.step // self.updates_of_point].lr))
        except Diverged:
            return math.inf
        return loss.item()

    def _evaluate(self, step: int, number: int, epoch: int) -> None:
        point = self.points[number]
        row = {"step": step, "point": number, "epoch": epoch, **vars(point)}
        row |= {"train_loss": math.inf, "test_loss": math.inf}
        if not self.memory["diverged"]:
            network = self.networks["network"].eval()
            for name in ("train", "test"):
                row[f"{name}_loss"] = self._loss(network, name)
            network.train()
        self.write(SEARCH.name, row)

    def _loss(self, network: nn.Module, name: str) -> float:
        split = {"train": self.dataset.train, "test": self.dataset.test}[name]
        x, y = split.inputs[: self.study.evaluated], split.targets[: self.study.evaluated]
        loss = self.objective.losses(outputs_of(network, x), y).double().mean().item()
        return loss if math.isfinite(loss) else math.inf
