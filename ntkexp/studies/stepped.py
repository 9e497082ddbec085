"""The base of works of one's own that advance step by step, such as two players.

A subclass has its networks by name and an update for each, and says what a step is. The shortest
way is `draw` and `loss`; whose steps are anything else gives an `update` of its own. Docs:
docs/own.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from ntkexp.checkpoint import npy, saved
from ntkexp.errors import Diverged
from ntkexp.optim.update import WeightUpdate
from ntkexp.probes.view import Batch, View, evaluating

if TYPE_CHECKING:
    from ntkexp.training.work import Kept, Written

BURST_SECONDS = 0.5
Row = Mapping[str, Any]
# What a network of a name makes of its inputs.
Networks = Mapping[str, Callable[..., Tensor]]


class SteppedWork:
    """A work of `last` steps (ntkexp/training/work.py), all of which can be taken up again.

    `networks` and `updates` are by name; an update changes the parameters that it was built with.
    `memory` has the further tensors and numbers by which a step depends on those before it.
    What `update` returns is a row of the table `table`, if the work has one, and the latest numbers
    for whoever watches. Probes look at `view`; `offers` names what they may ask for there.
    """

    table = ""
    offers = frozenset({"network"})

    def __init__(self, last: int, seed: int = 0) -> None:
        self.last, self.seed, self.step = last, seed, 0
        self.networks: dict[str, nn.Module] = {}
        self.updates: dict[str, WeightUpdate] = {}
        self.memory: dict[str, Any] = {}
        self.batches: Mapping[str, Batch] = {}
        self.figures: Mapping[str, float] = {}
        self._written: list[Written] = []
        self._kept: dict[str, bytes] = {}

    def draw(self, step: int) -> Mapping[str, Tensor]:
        """The tensors that a step needs, a function of seed, options and step."""
        return {}

    def loss(self, name: str, networks: Networks, given: Mapping[str, Any]) -> tuple[Tensor, Row]:
        """The loss that the update of this name lowers, and numbers.

        `given` has what `draw` gave and the memory. A number that bears a name of the memory takes
        that place there; the others are columns of the row.
        """
        raise NotImplementedError

    def rate(self, name: str, step: int) -> float:
        """The learning rate of an update at a step."""
        raise NotImplementedError

    def update(self, step: int) -> Row:
        """Make the step after `step` steps; its numbers.

        Here every update in turn follows the gradient of its loss, the next one seeing its change.
        """
        drawn, row = self.draw(step), dict[str, Any]()
        for name, update in self.updates.items():
            loss, numbers = self.loss(name, self.networks, {**self.memory, **drawn})
            update.descend(loss)
            update.apply(update.rate(self.rate(name, step)))
            row |= self.learnt(name, loss.item(), numbers)
        return row

    def learnt(self, name: str, loss: float, numbers: Row) -> Row:
        """Remember what an update's loss said; the rest is for the row."""
        if not math.isfinite(loss):
            raise Diverged(self.step, self.figures.get(f"{name}_loss", math.nan))
        others = {f"{name}_loss": loss}
        for key, value in numbers.items():
            if key in self.memory:
                self.memory[key] = value.detach()
            else:
                others[key] = value.item()
        return others

    def view(self, step: int) -> View | None:
        """The work as probes see it after `step` steps: here its networks, by their names."""
        facts = {"step": step, "seed": self.seed, "last": self.over, "batches": self.batches}
        return NetworksView(self.networks, **facts) if self.networks else None

    def write(self, table: str, columns: Mapping[str, object]) -> None:
        """Add rows to a table."""
        self._written.append((table, columns))

    def keep(self, name: str, array: NDArray[np.generic]) -> None:
        """Keep an array beside the tables, as the file NAME.npy."""
        self._kept[f"{name}.npy"] = npy(array)

    @property
    def over(self) -> bool:
        return self.step >= self.last

    def advance(self, to: int) -> str | None:
        until = time.monotonic() + BURST_SECONDS
        while self.step < to and not self.over:
            self.made(self.update(self.step))
            if time.monotonic() >= until:
                break
        return None

    def made(self, row: Row) -> None:
        """Count a step and write its row down."""
        if self.table and row:
            self.write(self.table, {"step": self.step, **row})
        self.figures = dict(row)
        self.step += 1

    @contextmanager
    def looked_at(self, event: str | None, *, scheduled: bool) -> Iterator[Sequence[View]]:
        with ExitStack() as modes:
            for network in self.networks.values():
                modes.enter_context(evaluating(network))
            view = self.view(self.step)
            yield [] if view is None else [view]

    def rows(self) -> list[Written]:
        written, self._written = self._written, []
        return written

    def state(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "networks": {name: tensors_of(net) for name, net in self.networks.items()},
            "updates": {name: update.state() for name, update in self.updates.items()},
            "memory": dict(self.memory),
        }

    def restore(self, state: dict[str, Any], kept: Kept) -> None:
        self.step = state["step"]
        for name, network in self.networks.items():
            network.load_state_dict(state["networks"][name])
        for name, update in self.updates.items():
            update.restore(state["updates"][name])
        for name, before in self.memory.items():
            value = state["memory"][name]
            self.memory[name] = value.to(before.device) if isinstance(before, Tensor) else value

    def kept_files(self) -> Mapping[str, bytes]:
        kept, self._kept = self._kept, {}
        return kept

    def files(self) -> Mapping[str, bytes]:
        """The weights of every network."""
        return {f"{name}.pt": saved(tensors_of(net)) for name, net in self.networks.items()}


def tensors_of(network: nn.Module) -> dict[str, Tensor]:
    """Copies: the weights may be part of a larger tensor, which would be saved whole."""
    return {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}


class NetworksView(View):
    """Networks by their names."""

    def __init__(self, networks: Mapping[str, nn.Module], **facts: Any) -> None:
        super().__init__(**facts)
        self._networks = networks

    def network(self, role: str = "model") -> nn.Module:
        return self._networks[role] if role in self._networks else super().network(role)
