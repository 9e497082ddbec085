"""The losses and accuracies of updates, on their way from the device to the tables.

They stay on the device until there are several: fetching each by itself would make a GPU wait at
every step. The tables do not depend on when they are fetched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ntkexp.errors import Diverged
from ntkexp.results.table import STEP, Rows, Table, float64, int64
from ntkexp.training.work import Written

STEPS = Table(
    "steps",
    "one update: loss and accuracy of its minibatch before the update, and its learning rate",
    {
        "step": STEP,
        "epoch": int64("passes over the training set begun before, from 0"),
        "train_loss": float64(
            "mean loss of the minibatch: cross-entropy in nats, or half the squared distance from "
            "the targets with `objective=squared_error`"
        ),
        "train_acc": float64("share of the minibatch that is right, 0 to 1"),
        "lr": float64("learning rate of the update"),
    },
)
AT_ONCE = 64
TOLD = 3  # losses before one that is no number
# The running mean of the minibatch loss forgets by this factor a step.
MEMORY = 0.9


class Recorder:
    """Collects the figures of updates, and makes a row of every `every`-th update."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.recent_loss = math.inf
        self.latest: dict[str, float] = {}
        self.losses: list[float] = []
        self._waiting: list[tuple[int, int, float, Tensor, Tensor]] = []
        self._watched: list[tuple[int, Rows]] = []
        self._written: list[Written] = []

    def update(self, step: int, epoch: int, lr: float, loss: Tensor, accuracy: Tensor) -> None:
        """Keep the figures of one update: 0-d tensors, which may be on a device."""
        self._waiting.append((step, epoch, lr, loss, accuracy))
        if len(self._waiting) == AT_ONCE:
            self.fetch()

    def keeps(self, step: int) -> bool:
        """True if the update after `step` updates has a row."""
        return step % self.every == 0

    def watched(self, step: int, rows: Rows) -> None:
        """Keep what a probe saw of an update: one row of each table."""
        self._watched.append((step, rows))

    def write(self, table: str, columns: dict[str, object]) -> None:
        """Keep rows that are complete."""
        self._written.append((table, columns))

    def rows(self) -> list[Written]:
        """All rows since last asked."""
        self.fetch()
        written, self._written = self._written, []
        return written

    def fetch(self) -> None:
        """Make rows of what waits on the device; a loss that is no number ends the run."""
        if not self._waiting:
            return
        loss = torch.stack([waiting[3] for waiting in self._waiting]).double().tolist()
        accuracy = torch.stack([waiting[4] for waiting in self._waiting]).tolist()
        updates = [waiting[:3] for waiting in self._waiting]
        self._waiting.clear()
        self.take(updates, loss, accuracy)

    def take(
        self,
        updates: Sequence[tuple[int, int, float]],
        loss: Sequence[float],
        accuracy: Sequence[float],
    ) -> None:
        """Take in losses and accuracies as numbers; `updates` has step, epoch and rate of each."""
        finite = next((i for i, x in enumerate(loss) if not math.isfinite(x)), len(loss))
        if finite < len(loss):  # what was seen after it depends on when it is fetched
            end = updates[finite][0]
            self._watched = [watched for watched in self._watched if watched[0] <= end]
        self._write_watched()
        for value in loss[:finite]:
            before = self.recent_loss
            self.recent_loss = (
                value if math.isinf(before) else MEMORY * before + (1 - MEMORY) * value
            )
        if finite:
            kept = [i for i in range(finite) if self.keeps(updates[i][0])]
            if kept:
                self._write_steps(
                    {
                        "step": [updates[i][0] for i in kept],
                        "epoch": [updates[i][1] for i in kept],
                        "train_loss": [loss[i] for i in kept],
                        "train_acc": [accuracy[i] for i in kept],
                        "lr": [updates[i][2] for i in kept],
                    }
                )
            self.latest = {"loss": loss[finite - 1], "accuracy": accuracy[finite - 1]}
            self.losses = [*self.losses, *loss[:finite]][-TOLD:]
        if finite < len(loss):
            raise self.diverged(updates[finite][0])

    def diverged(self, step: int) -> Diverged:
        """The error of a training whose loss was a number until this step."""
        return Diverged(step, *self.losses, way_out="lower optim.lr" if step else "")

    def _write_steps(self, columns: dict[str, list[Any]]) -> None:
        """Append to the last rows, where these are of updates as well. When a loss is waited
        for, every update is fetched by itself, and a table of one row costs more than a small
        network's step."""
        if self._written and self._written[-1][0] == STEPS.name:
            for name, values in self._written[-1][1].items():
                assert isinstance(values, list)
                values += columns[name]
        else:
            self.write(STEPS.name, dict(columns))

    def _write_watched(self) -> None:
        tables: dict[str, dict[str, list[Any]]] = {}
        for step, rows in self._watched:
            for table, row in rows.items():
                columns = tables.setdefault(table, {})
                for name, value in {"step": step, **row}.items():
                    columns.setdefault(name, []).append(value)
        self._watched.clear()
        for table, columns in tables.items():
            self.write(table, {name: _fetched(values) for name, values in columns.items()})


def _fetched(values: list[Any]) -> list[Any]:
    """Scalars of one column as numbers: those on a device in one transfer, not one each."""
    if not isinstance(values[0], Tensor):
        return values
    numbers: list[Any] = torch.stack(values).tolist()
    return numbers
