"""What an update of KFAC, EKFAC and EKFAC-ra costs beside those of SGD and Adam, on one network.

OMP_NUM_THREADS=1 ntkexp study +exp=curvature/autoencoder_seconds

Wall clocks of single runs cannot be compared on a shared machine. Here all optimisers take turns,
and processor seconds are counted; a loss over seconds is one over updates, times these. The rates
are so small that the numbers stay what they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from omegaconf import MISSING
from torch import nn

from ntkexp import models
from ntkexp.data.base import Data
from ntkexp.errors import UserError
from ntkexp.models import Model
from ntkexp.models.resnet18 import Norm
from ntkexp.objectives import Objective
from ntkexp.optim.adam import Adam
from ntkexp.optim.base import Optimiser
from ntkexp.optim.kfac import Kfac, Second
from ntkexp.optim.observer import observed_loss
from ntkexp.optim.sgd import Sgd
from ntkexp.optim.update import WeightUpdate
from ntkexp.options import count, each, option
from ntkexp.results.table import STEP, Table, boolean, float64, int64, string
from ntkexp.studies.base import Study
from ntkexp.studies.stepped import Row, SteppedWork

if TYPE_CHECKING:
    from ntkexp.training.place import Place

BASELINES: dict[str, Optimiser] = {"sgd": Sgd(momentum=0.9), "adam": Adam()}
NORMED = "_batch_norm"
METHODS = (*BASELINES, *(f"{name}{NORMED}" for name in BASELINES), *map(str, Second))
UPDATE_SECONDS = Table(
    "update_seconds",
    "an update of one optimiser",
    {
        "step": STEP,
        "method": string("the optimiser, or the second moments of KFAC", choices=METHODS),
        "batch_size": int64("examples of the mini-batch"),
        "anew": boolean("factors, or basis, are computed in it"),
        "seconds": float64("of the processor, all threads"),
    },
    notes="Steps are rounds: in each, every optimiser makes every kind of update once.",
)
RATE = 1e-9


@dataclass
class UpdateSeconds(Study):
    """Each round has an update of SGD and of Adam, without batch normalisation and, if the network
    has it, with; and two of KFAC with each kind of second moments, of which one computes factors
    anew. A first round is not counted."""

    tables: ClassVar = (UPDATE_SECONDS,)
    tiny: ClassVar[dict[str, Any]] = {"rounds": 1, "batch_sizes": [4]}

    data: Data = option(MISSING, about="the examples, of which it takes the first")
    model: Model = option(MISSING, about="the network, without batch normalisation")
    objective: Objective = option(MISSING, about="the loss")
    optim: Optimiser = option(MISSING, about="KFAC, but for its second moments")
    batch_sizes: list[int] = option(
        [500], each(count("examples"), 1, once=True), "of the mini-batches"
    )
    rounds: int = option(7, count("rounds"), "updates of each kind")

    def work(self, place: Place) -> Timing:
        if not isinstance(self.optim, Kfac):
            raise UserError(f"study.optim={self.optim.name}: expected kfac")
        return Timing(self, self.optim, place)


class Timing(SteppedWork):
    """A round a step."""

    def __init__(self, study: UpdateSeconds, kfac: Kfac, place: Place) -> None:
        super().__init__(last=study.rounds)
        self.study, self.kfac, self.place = study, kfac, place
        self.dataset = study.objective.seen(place.data(study.data, self.seed))
        if (most := max(study.batch_sizes)) > (there := len(self.dataset.train)):
            raise UserError(f"study.batch_sizes: {most:,} examples; there are {there:,}")
        self.objective = study.objective.build(self.dataset.train.targets, self.dataset.classes)
        self.kinds = {
            (method, size, anew): partial(self._descend, network, update, size, anew)
            for method, network, update in self._made()
            for size in study.batch_sizes
            for anew in ((True, False) if method in [*Second] else (False,))
        }
        for make in self.kinds.values():
            make()

    def _made(self) -> list[tuple[str, nn.Module, WeightUpdate]]:
        plain = self.study.model
        options = {field.name for field in fields(plain)}
        of_kfac = {str(second): replace(self.kfac, second=second) for second in Second}
        wanted = [(name, plain, optim) for name, optim in {**BASELINES, **of_kfac}.items()]
        norms: dict[str, Any] = {"batch_norm": True, "norm": Norm.batch}
        if normed := {key: value for key, value in norms.items() if key in options}:
            batch_norm = replace(plain, **normed)
            wanted += [(name + NORMED, batch_norm, optim) for name, optim in BASELINES.items()]
        made = []
        for name, model, optim in wanted:
            shape, outputs = self.dataset.input_shape, self.objective.outputs
            network = models.build(model, shape, outputs, self.seed).to(self.place.device)
            optim.refuse(network)
            made.append((name, network, optim.build_for(network, self.objective)))
        return made

    def _descend(self, network: nn.Module, update: WeightUpdate, size: int, anew: bool) -> None:
        update.updates = 0 if anew else 1  # KFAC's first one computes the factors
        x, y = self.dataset.train.inputs[:size], self.dataset.train.targets[:size]
        loss = observed_loss(network, update, x, y, self.objective)
        loss.backward()  # type: ignore[no-untyped-call]
        update.compute()
        update.apply(RATE)

    def update(self, step: int) -> Row:
        seconds = {kind: processor_seconds(make) for kind, make in self.kinds.items()}
        methods, sizes, anew = zip(*seconds, strict=True)
        of_round = {"method": methods, "batch_size": sizes, "anew": anew}
        self.write(
            UPDATE_SECONDS.name, {"step": step + 1, **of_round, "seconds": [*seconds.values()]}
        )
        return {}


def processor_seconds(make: Callable[[], None]) -> float:
    before = time.process_time()
    make()
    return time.process_time() - before
