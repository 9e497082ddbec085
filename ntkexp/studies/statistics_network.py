"""The base of studies that estimate a known mutual information by a statistics network (Algorithm
1 of "Mutual Information Neural Estimation", Figures 5.1 and 5.2).

A subclass says how pairs are drawn and what is true of them.

Of `samples` pairs four fifths train the network and the last fifth chooses the look; its value
there is the bound on fresh pairs. Endless pairs are new at every step; the value is the mean of the
last ten looks, each at fresh pairs.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from ntkexp.data.batches import Batches
from ntkexp.information.ksg import ksg
from ntkexp.information.mine import (
    Objective,
    Pairs,
    lowered,
    statistics,
    statistics_network,
    together_and_apart,
)
from ntkexp.models import Model, build
from ntkexp.optim.adam import Adam
from ntkexp.options import MANY, SEED, count, option, positive, whole
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Table, float64, int64
from ntkexp.seeds import generator
from ntkexp.studies.base import Study
from ntkexp.studies.stepped import Networks, Row, SteppedWork

if TYPE_CHECKING:
    from ntkexp.training.place import Place

LOOKS = Table(
    "information_looks",
    "the bound of the network at a look, in nats",
    {
        "step": STEP,
        "train": float64("on the first training pairs, as many as chose the look; nan if endless"),
        "held_out": float64("on the pairs that choose the look; if endless on fresh ones"),
    },
)
ESTIMATES = Table(
    "information",
    "a mutual information as it is and as it is estimated, in nats",
    {
        "step": STEP,
        "chosen": int64("step of the look that was chosen; the last if endless"),
        "truth": float64("by a closed form or by quadrature"),
        "value": float64("the bound on fresh pairs at that look; if endless mean of ten looks"),
        "train": float64("the bound on the training pairs at that look; nan if endless"),
        "end_value": float64("the bound on the fresh pairs at the end"),
        "end_train": float64("the bound on the training pairs at the end; nan if endless"),
        "population": float64(
            "the bound on `study.population` fresh pairs at the look that was chosen; nan where "
            "the truth is 4 nats or more, which so many do not show"
        ),
        "ksg": float64("by nearest neighbours on all samples, beside the objective mine; else nan"),
    },
)
LAST_LOOKS = 10
SHOWN_BY_POPULATION = 4.0
FRESH, AT_ONCE = 10_000, 100_000


@dataclass
class Estimation(Study):
    """A network of pairs that was trained by Adam, and nearest neighbours beside it."""

    tables: ClassVar[tuple[Table, ...]] = (LOOKS, ESTIMATES)
    small: ClassVar = {"steps": 200, "samples": 1000, "population": 10_000}
    tiny: ClassVar = {"steps": 5, "samples": 100, "population": 100}

    seed: int = option(0, SEED, "the start of all random numbers")
    network: Model = option(statistics_network(), about="the statistics network")
    objective: Objective = option(Objective.mine, about="mine, naive or mine_f")
    samples: int | None = option(10_000, whole(10, MANY, "pairs", "for endless ones"), "pairs")
    population: int = option(0, whole(0, MANY, "pairs"), "pairs that stand for all there are")
    neighbours: bool = option(False, about="estimate by nearest neighbours, too")
    steps: int = option(5000, count("steps"), "updates of the network")
    batch_size: int = option(500, whole(2, MANY, "pairs"), "pairs of an update")
    lr: float = option(0.0005, positive(), "learning rate of Adam")

    def draw(self, n: int, stream: torch.Generator) -> Pairs:
        """n pairs, (n, d_x) and (n, d_z)."""
        raise self.lacks("draw(n, stream)")

    def truth(self) -> float:
        """Their mutual information in nats."""
        raise self.lacks("truth()")

    def module(self, inputs: int) -> nn.Module:
        """What is trained, of vectors (x, z)."""
        return build(self.network, (inputs,), 1, self.seed)

    def work(self, place: Place) -> Estimator:
        return Estimator(self, place)


class Estimator(SteppedWork):
    """Networks: that which is trained, and `chosen`, which is as it was at the look that the
    held-out pairs chose."""

    def __init__(self, study: Estimation, place: Place) -> None:
        super().__init__(last=study.steps, seed=study.seed)
        self.study, self.device = study, place.device
        inputs = sum(part.shape[1] for part in self.drawn(1, "inputs"))
        network = study.module(inputs).to(self.device)
        self.networks = {"statistics": network, "chosen": copy.deepcopy(network)}
        self.updates = {"statistics": Adam().build(network.parameters())}
        self.memory = {
            "log_mean": torch.zeros((), device=self.device),
            "best": -math.inf,
            "chosen_at": 0,
            "last": torch.full((LAST_LOOKS,), math.nan, dtype=torch.float64),
        }
        self.train: Pairs | None = None
        if study.samples is not None:
            x, z = self.drawn(study.samples, "samples")
            held_out = study.samples // 5
            self.train = x[:-held_out], z[:-held_out]
            self.held_out = x[-held_out:], z[-held_out:]
            size = min(study.batch_size, len(self.train[0]))
            self.order = Batches(len(self.train[0]), size, self.seed, self.device, drop_last=True)

    def drawn(self, n: int, purpose: str, step: int = 0) -> Pairs:
        x, z = self.study.draw(n, generator(self.seed, f"information.{purpose}", step))
        return x.to(self.device), z.to(self.device)

    def draw(self, step: int) -> Mapping[str, Tensor]:
        if self.train is None:
            x, z = self.drawn(self.study.batch_size, "batches", step)
        else:
            x, z = self.order.take(step, *self.train)
        return {"pairs": together_and_apart(x, z)}

    def loss(self, name: str, networks: Networks, given: Mapping[str, Any]) -> tuple[Tensor, Row]:
        joint, apart = networks[name](given["pairs"])[:, 0].chunk(2)
        loss, log_mean = lowered(self.study.objective, joint, apart, given["log_mean"])
        return loss, {"log_mean": log_mean}

    def update(self, step: int) -> Row:
        """A step of its own: as a stack, networks of this size take up to 1.7 times as long."""
        return super().update(step)

    def rate(self, name: str, step: int) -> float:
        return self.study.lr

    @contextmanager
    def looked_at(self, event: str | None, *, scheduled: bool) -> Iterator[Sequence[View]]:
        with super().looked_at(event, scheduled=scheduled) as views:
            self.look()
            if self.over:
                self.write(ESTIMATES.name, {"step": self.step, **self.estimates()})
            yield views

    def look(self) -> None:
        if self.train is None:
            train, held_out = math.nan, self.bound("statistics", self.fresh())
            self.memory["last"] = self.memory["last"].roll(-1)
            self.memory["last"][-1] = held_out
        else:
            n = len(self.held_out[0])
            train = self.bound("statistics", (self.train[0][:n], self.train[1][:n]))
            held_out = self.bound("statistics", self.held_out)
        if self.train is None or held_out > self.memory["best"]:
            self.memory |= {"best": held_out, "chosen_at": self.step}
            self.networks["chosen"].load_state_dict(self.networks["statistics"].state_dict())
        self.write(LOOKS.name, {"step": self.step, "train": train, "held_out": held_out})

    def estimates(self) -> dict[str, float]:
        endless, truth = self.train is None, self.study.truth()
        fresh = self.fresh()
        value = self.memory["last"].nanmean().item() if endless else self.bound("chosen", fresh)
        known = self.study.population and truth < SHOWN_BY_POPULATION
        beside = self.study.neighbours and self.study.objective is Objective.mine
        return {
            "chosen": self.memory["chosen_at"],
            "truth": truth,
            "value": value,
            "train": self.bound("chosen", self.train),
            "end_value": self.bound("statistics", fresh),
            "end_train": self.bound("statistics", self.train),
            "population": self.of_population() if known else math.nan,
            "ksg": self.by_neighbours() if beside else math.nan,
        }

    def by_neighbours(self) -> float:
        if self.train is None:
            return math.nan
        x, z = (torch.cat(parts).cpu() for parts in zip(self.train, self.held_out, strict=True))
        return ksg(x, z)

    def fresh(self) -> Pairs:
        return self.drawn(FRESH, "fresh", self.step)

    def bound(self, network: str, pairs: Pairs | None) -> float:
        if pairs is None:
            return math.nan
        return self.study.objective.bound(*statistics(self.networks[network], *pairs))

    def of_population(self) -> float:
        firsts = range(0, self.study.population, AT_ONCE)
        sizes = [min(AT_ONCE, self.study.population - first) for first in firsts]
        parts = [
            statistics(self.networks["chosen"], *self.drawn(size, "population", number))
            for number, size in enumerate(sizes)
        ]
        joint, apart = (torch.cat(of_all) for of_all in zip(*parts, strict=True))
        return self.study.objective.bound(joint, apart)
