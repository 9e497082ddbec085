"""Two players of one's own, as a work: a line that fits points, another that moves them away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ntkexp.checkpoint import saved
from ntkexp.options import SEED, count, option
from ntkexp.probes import Batch, Probe, Rows, View
from ntkexp.references import FromRun
from ntkexp.results.table import STEP, Table, float64
from ntkexp.seeds import generator
from ntkexp.studies.base import Study
from ntkexp.training.place import Place
from ntkexp.training.work import Kept, Work, Written

GAME = Table("game", "one round", {"step": STEP, "value": float64("of the game, before it")})
NORMS = Table(
    "norms", "sizes of both players", {"step": STEP, "one": float64("|w|"), "two": float64("|v|")}
)


class Game:
    """min over w, max over v of (w x - v)^2 / 2 - v^2 on x from a file."""

    offers = frozenset({"network"})

    def __init__(self, x: Tensor, seed: int, rounds: int, device: torch.device) -> None:
        self.x, self.seed, self.step, self.last = x.to(device), seed, 0, rounds
        drawn = torch.randn(2, generator=generator(seed, "players"), dtype=torch.float64)
        self.players = {"one": drawn[0].to(device), "two": drawn[1].to(device)}
        self._written: list[Written] = []

    @property
    def over(self) -> bool:
        return self.step >= self.last

    @property
    def figures(self) -> Mapping[str, float]:
        return {}

    def advance(self, to: int) -> str | None:
        w, v = self.players["one"], self.players["two"]
        noise = torch.randn((), generator=generator(self.seed, "round", self.step)).item()
        gap = w * self.x - v + 0.01 * noise
        self._written.append(
            ("game", {"step": self.step, "value": (gap**2 / 2 - v**2).mean().item()})
        )
        self.players = {
            "one": w - 0.1 * (gap * self.x).mean(),
            "two": v + 0.1 * (-gap - 2 * v).mean(),
        }
        self.step += 1
        return "sign" if self.players["one"] * w < 0 else None

    @contextmanager
    def looked_at(self, event: str | None, *, scheduled: bool) -> Iterator[Sequence[View]]:
        yield [Players(self, step=self.step, seed=self.seed, last=self.over, event=event)]

    def rows(self) -> list[Written]:
        written, self._written = self._written, []
        return written

    def state(self) -> dict[str, Any]:
        return {"step": self.step, "players": dict(self.players)}

    def restore(self, state: dict[str, Any], kept: Kept) -> None:
        self.step, self.players = state["step"], state["players"]

    def kept_files(self) -> Mapping[str, bytes]:
        return {}

    def files(self) -> Mapping[str, bytes]:
        return {"players.pt": saved(self.players)}


class Players(View):
    def __init__(self, game: Game, **facts: Any) -> None:
        super().__init__(batches={"x": Batch(game.x, game.x)}, **facts)
        self._game = game

    def network(self, role: str = "model") -> nn.Module:
        module = nn.Module()
        module.w = nn.Parameter(self._game.players[role])
        return module


@dataclass
class Norms(Probe):
    """|w| and |v|."""

    tables = (NORMS,)

    def measure(self, view: View) -> Rows:
        return {"norms": {role: view.network(role).w.abs().item() for role in ("one", "two")}}


@dataclass
class TwoPlayers(Study):
    tables: ClassVar = (GAME,)

    seed: int = option(0, SEED)
    rounds: int = option(40, count("rounds"))
    x: FromRun = field(default_factory=lambda: FromRun(file="draw1.npy"))

    def work(self, place: Place) -> Work:
        x = torch.from_numpy(self.x.array().copy()).flatten()
        return Game(x, self.seed, self.rounds, place.device)
