"""Experiments without a network to train: one file a study, named as its config.

A study is a module with a dataclass `Config`, its `TABLES`, and
`run(config, *, progress) -> {table: frame}`.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pandas as pd

from ntkexp.config import checked
from ntkexp.errors import UserError
from ntkexp.results.table import Table


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
        frames: dict[str, pd.DataFrame] = self.module.run(self.config, progress=progress)
        return frames


def names() -> list[str]:
    """Every study there is."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def choose(selected: Mapping[str, Any]) -> Study:
    """The study of a config node `study: {name: ..., options}`, its options checked for type."""
    options = dict(selected)
    name = options.pop("name", None)
    if name not in names():
        raise UserError(f"study.name={name}: no such study; there are {', '.join(names())}")
    module = importlib.import_module(f"{__name__}.{name}")
    return Study(module, checked(module.Config, options, "study"))
