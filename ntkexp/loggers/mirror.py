"""Brings the loggers of a run up to its commits, over all its lives, each row once.

    logs/tensorboard/       a logger's own files
    logs/tensorboard.json   which commits it has, and what it needs to go on

A life that ends between a commit and its mirror leaves the rest to the next one. One that ends
while a batch is written leaves a note of that; files are then cut to where they were.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from omegaconf import DictConfig, OmegaConf

from ntkexp.errors import Diverged, UserError
from ntkexp.identity import plain
from ntkexp.keys import EXECUTION_KEYS
from ntkexp.loggers.base import About, Batch, Logger, Sink
from ntkexp.members import expanded
from ntkexp.results.status import flattened
from ntkexp.results.files import make_folder, remove_tree
from ntkexp.results.store import LOGS

if TYPE_CHECKING:
    import pandas as pd

    from ntkexp.results import Run


@dataclass
class Open:
    """A logger at work; `commits` are those it has."""

    sink: Sink
    commits: int
    again: bool


class Mirror:
    """The loggers of a run. A context: it begins with the run's own, and closes what it opened.

    A logger that fails is left out from then on, with a line on standard error: a run does not end
    because nobody takes its numbers.
    """

    def __init__(
        self,
        loggers: Mapping[str, Logger],
        run: Run,
        experiment: str,
        config: Mapping[str, Any],
        members: Sequence[str] = (),
    ) -> None:
        self.loggers, self.run = loggers, run
        self.experiment, self.config, self.members = experiment, config, members
        self._open: dict[str, Open] = {}

    @property
    def folder(self) -> Path:
        return self.run.folder / LOGS

    def __enter__(self) -> Mirror:
        for name, logger in self.loggers.items():
            with self._guarded(name):
                self._begin(name, logger)
        self.catch_up()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Diverged):
            tail = self._batch(self.run.pending())
            for name, one in list(self._open.items()):
                with self._guarded(name):
                    one.sink.write(tail)
        for name, one in list(self._open.items()):
            with self._guarded(name):
                one.sink.close(error is None)

    def catch_up(self) -> None:
        """Tell every logger of the commits that it does not have."""
        first = min((one.commits for one in self._open.values()), default=self.run.commits)
        for number in range(first + 1, self.run.commits + 1):
            batch = self._batch(self.run.rows_of(number))
            for name, one in list(self._open.items()):
                if one.commits < number:
                    with self._guarded(name):
                        self._tell(name, one, number, batch)

    def _begin(self, name: str, logger: Logger) -> None:
        noted = self._noted(name) if self.run.commits else None
        folder = self.folder / name
        if folder.is_symlink():
            raise UserError(f"{folder} is a link; expected a folder of this run, or none")
        if noted is None:
            remove_tree(folder)
        make_folder(folder)
        about = About(self.experiment, self.run.folder.name, folder, self.config)
        if noted is None:
            self._open[name] = Open(logger.open(about, None), commits=0, again=False)
            return
        sink = logger.open(about, noted["state"])
        self._open[name] = Open(sink, noted["commits"], again=noted["begun"] > noted["commits"])

    def _tell(self, name: str, one: Open, number: int, batch: Batch) -> None:
        self._note(name, one, begun=number)
        one.sink.write(replace(batch, again=one.again))
        one.commits, one.again = number, False
        self._note(name, one, begun=number)

    def _batch(self, tables: Mapping[str, pd.DataFrame]) -> Batch:
        # pandas is for those who have a logger.
        from ntkexp.loggers.series import scalar_tables, series_of

        scalar = scalar_tables(tables, self.members)
        return Batch(scalar, series_of(scalar, self.members))

    def _note(self, name: str, one: Open, begun: int) -> None:
        noted = {"commits": one.commits, "begun": begun, "state": one.sink.state()}
        draft = self.folder / f".{name}.json.tmp"
        draft.write_text(json.dumps(noted))
        draft.replace(self.folder / f"{name}.json")

    def _noted(self, name: str) -> dict[str, Any] | None:
        try:
            return dict(json.loads((self.folder / f"{name}.json").read_bytes()))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    @contextmanager
    def _guarded(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._open.pop(name, None)
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            print(f"logger {name}: {reason}; the run goes on without it", file=sys.stderr)


def mirror_for(config: DictConfig, run: Run) -> Mirror:
    """The loggers that a config chooses, for its run."""
    loggers = cast("dict[str, Logger]", OmegaConf.to_object(config.logger))
    told = {
        key: value
        for key, value in flattened(plain(config)).items()
        if key not in EXECUTION_KEYS and key.partition(".")[0] not in EXECUTION_KEYS
    }
    members = expanded(config.members) if config.members else ()
    return Mirror(loggers, run, config.name, told, tuple(members))
