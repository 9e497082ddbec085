"""Brings the loggers of a run up to its commits, over all its lives.

A life that ends between a commit and its mirror leaves the rest to the next one. `commits` in a
logger's folder says how many it has; one that was being written when a life ended is written again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from omegaconf import DictConfig, OmegaConf

from ntkexp.errors import Diverged, UserError
from ntkexp.keys import EXECUTION_KEYS
from ntkexp.loggers.base import About, Logger, Series, Sink, Tables
from ntkexp.results.files import make_folder, remove_tree
from ntkexp.results.status import flattened
from ntkexp.results.store import LOGS

if TYPE_CHECKING:
    from ntkexp.results import Run

STEP, COMMITS = "step", "commits"


def mirror_for(config: DictConfig, run: Run) -> Mirror:
    """The loggers that a config chooses, for its run."""
    loggers = cast("dict[str, Logger]", OmegaConf.to_object(config.logger))
    plain = OmegaConf.to_container(config, resolve=True, enum_to_str=True)
    values = {
        key: value
        for key, value in flattened(cast("dict[str, Any]", plain)).items()
        if key not in EXECUTION_KEYS and key.partition(".")[0] not in EXECUTION_KEYS
    }
    return Mirror(loggers, run, config.name, values, tuple(map(str, config.members or ())))


@dataclass
class OpenLogger:
    """A logger at work, and how many commits it has."""

    sink: Sink
    commits: int


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
        self._open: dict[str, OpenLogger] = {}

    @property
    def folder(self) -> Path:
        return self.run.folder / LOGS

    def __enter__(self) -> Mirror:
        for name in self.loggers:
            with self._guarded(name):
                self._begin(name)
        self.catch_up()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name, logger in list(self._open.items()):
            with self._guarded(name):
                if isinstance(error, Diverged):
                    logger.sink.write(*self._rows(self.run.pending()))
                logger.sink.close(error is None)

    def catch_up(self) -> None:
        """Tell every logger of the commits that it does not have."""
        commits = [logger.commits for logger in self._open.values()]
        for number in range(min(commits, default=self.run.commits) + 1, self.run.commits + 1):
            tables, series = self._rows(self.run.rows_of(number))
            for name, logger in list(self._open.items()):
                if logger.commits < number:
                    with self._guarded(name):
                        logger.sink.write(tables, series)
                        logger.commits = number
                        draft = self.folder / name / ".commits.tmp"
                        draft.write_text(str(number))
                        draft.replace(self.folder / name / COMMITS)

    def _begin(self, name: str) -> None:
        logger, folder = self.loggers[name], self.folder / name
        if folder.is_symlink():
            raise UserError(f"{folder} is a link; expected a folder of this run, or none")
        if logger.begins_anew or not self.run.commits:
            remove_tree(folder)
        make_folder(folder)
        about = About(self.experiment, self.run.folder.name, folder, self.config)
        counted = folder / COMMITS
        commits = int(counted.read_text()) if counted.exists() else 0
        self._open[name] = OpenLogger(logger.open(about), commits)

    def _rows(self, tables: Tables) -> tuple[Tables, list[Series]]:
        scalar = scalar_tables(tables, self.members)
        return scalar, series_of(scalar, self.members)

    @contextmanager
    def _guarded(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._open.pop(name, None)
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            print(f"logger {name}: {reason}; the run goes on without it", file=sys.stderr)


def scalar_tables(
    tables: Mapping[str, pd.DataFrame], members: Sequence[str] = ()
) -> dict[str, pd.DataFrame]:
    """The tables with one row a step and choice of words; not a spectrum, nor values at points.

    `members` are the columns that tell the networks of a run apart.
    """
    return {
        name: frame
        for name, frame in tables.items()
        if STEP in frame
        and len(_values(frame, members))
        and not frame.duplicated([STEP, *_words(frame, members)]).any()
    }


def series_of(tables: Mapping[str, pd.DataFrame], members: Sequence[str] = ()) -> list[Series]:
    """The numbers of scalar tables, a series for every choice of words: evals/test/all."""
    return [series for name, frame in tables.items() for series in _series(name, frame, members)]


def _series(table: str, frame: pd.DataFrame, members: Sequence[str]) -> Iterator[Series]:
    words, values = _words(frame, members), _values(frame, members)
    groups = frame.groupby(words, sort=False) if words else [((), frame)]
    for chosen, rows in groups:
        rows = rows.sort_values(STEP, kind="stable")
        labels = [
            f"{word}={value}" if word in members else str(value)
            for word, value in zip(words, chosen, strict=True)
        ]
        yield Series(
            "/".join([table, *labels]),
            rows[STEP].to_numpy(np.int64),
            {column: rows[column].to_numpy(np.float64) for column in values},
        )


def _words(frame: pd.DataFrame, members: Sequence[str]) -> list[str]:
    return [str(name) for name in frame if name in members or frame[name].dtype.kind not in "fiu"]


def _values(frame: pd.DataFrame, members: Sequence[str]) -> list[str]:
    return [str(name) for name in frame if frame[name].dtype.kind == "f" and name not in members]
