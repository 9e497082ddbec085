"""Experiments without a network to train: one file a study, named as its config.

A study is a module of `computations` with a dataclass `Config`, its `TABLES`, and
`run(config, *, progress) -> {table: frame}`. `check(config)`, if there is one, refuses values that
do not go together. `MAY_BE_INFINITE` names the columns of tables where infinity is an answer.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from ntkexp.config import checked
from ntkexp.errors import UserError
from ntkexp.results.table import Table
from ntkexp.studies import computations


@dataclass(frozen=True)
class Study:
    """A study and the options it was asked for."""

    module: ModuleType
    config: Any

    @property
    def tables(self) -> tuple[Table, ...]:
        tables: tuple[Table, ...] = self.module.TABLES
        return tables

    def run(self, *, progress: bool) -> dict[str, pd.DataFrame]:
        """Its tables, every number finite but where the study says that it may not be."""
        # What overflows on the way is judged by what comes out, not by a warning.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            try:
                frames: dict[str, pd.DataFrame] = self.module.run(self.config, progress=progress)
            except np.linalg.LinAlgError as error:
                raise UserError(f"study={self.name}: {error}; expected milder values") from error
        for table, frame in frames.items():
            self._refuse_infinite(table, frame)
        return frames

    @property
    def name(self) -> str:
        return self.module.__name__.rpartition(".")[2]

    def _refuse_infinite(self, table: str, frame: pd.DataFrame) -> None:
        free = getattr(self.module, "MAY_BE_INFINITE", {}).get(table, ())
        for column in frame.select_dtypes("float"):
            wrong = np.flatnonzero(~np.isfinite(frame[column].to_numpy()))
            if len(wrong) and column not in free:
                value = frame[column].iloc[int(wrong[0])]
                raise UserError(
                    f"study={self.name}: {column} of table {table} is {value} in row "
                    f"{wrong[0]}; the values given lead out of the numbers there are, expected "
                    "milder ones"
                )


def names() -> list[str]:
    """Every study there is."""
    return sorted(module.name for module in pkgutil.iter_modules(computations.__path__))


def choose(selected: Mapping[str, Any]) -> Study:
    """The study of a config node `study: {name: ..., options}`, its options checked for type."""
    if not isinstance(selected, Mapping):
        raise UserError(f"study={selected}: expected one of {', '.join(names())}")
    options = dict(selected)
    name = options.pop("name", None)
    if name not in names():
        raise UserError(f"study.name={name}: no such study; there are {', '.join(names())}")
    module = importlib.import_module(f"{computations.__name__}.{name}")
    chosen = Study(module, checked(module.Config, options, "study"))
    if hasattr(module, "check"):
        module.check(chosen.config)
    return chosen
