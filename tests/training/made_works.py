"""A work of one's own of two players, one with batch normalisation, that remembers a mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ntkexp.models import build
from ntkexp.models.mlp import Mlp
from ntkexp.optim.adam import Adam
from ntkexp.optim.sgd import Sgd
from ntkexp.options import SEED, count, option, positive
from ntkexp.results.table import STEP, Table, float64
from ntkexp.seeds import generator
from ntkexp.studies.base import Study
from ntkexp.studies.stepped import Networks, Row, SteppedWork
from ntkexp.training.place import Place

DUEL = Table(
    "duel",
    "one step",
    {
        "step": STEP,
        "judge_loss": float64("before its update"),
        "maker_loss": float64("before its update"),
        "gap": float64("of the means"),
    },
)


class Duels(SteppedWork):
    table = DUEL.name

    def __init__(self, study: Duel, place: Place) -> None:
        super().__init__(last=study.steps, seed=study.seed)
        self.study = study
        norm = nn.Sequential(nn.Linear(2, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 2))
        with torch.no_grad():
            for number, weight in enumerate(norm.parameters()):
                drawn = torch.rand(weight.shape, generator=generator(self.seed, "maker", number))
                weight.copy_(drawn - 0.3)
        judge = build(Mlp(depth=1, width=study.width), (2,), 1, self.seed)
        self.networks = {"maker": norm.to(place.device), "judge": judge.to(place.device)}
        self.updates = {
            "judge": Adam(beta2=0.99).build(judge.parameters()),
            "maker": Sgd(momentum=0.5).build(norm.parameters()),
        }
        self.memory = {"average": torch.tensor(1.0)}

    def draw(self, step: int) -> Mapping[str, Tensor]:
        stream = generator(self.seed, "duel", step)
        true, noise = torch.randn(2, 16, 2, generator=stream)
        return {"true": true + 1, "noise": noise, "push": torch.tensor(self.study.push)}

    def loss(self, name: str, networks: Networks, given: Mapping[str, Any]) -> tuple[Tensor, Row]:
        made = networks["maker"](given["noise"])
        gap = networks["judge"](given["true"]).mean() - networks["judge"](made).mean()
        if name == "maker":
            return self.study.scale * gap * given["push"], {"gap": gap}
        average = torch.lerp(given["average"], made.square().mean(), 0.1)
        return -gap + gap.square() / average.detach(), {"average": average}

    def rate(self, name: str, step: int) -> float:
        return {"judge": 1e-2, "maker": self.study.lr}[name]


@dataclass
class Duel(Study):
    tables: ClassVar = (DUEL,)

    seed: int = option(0, SEED)
    steps: int = option(20, count("steps"))
    width: int = option(5, count("units"))
    push: float = option(1.0, positive())
    scale: float = option(1.0, positive())  # that `draw` does not give
    lr: float = option(0.05, positive())

    def work(self, place: Place) -> Duels:
        return Duels(self, place)
