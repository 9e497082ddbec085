"""A logger of one's own, as docs/loggers.md shows it: the scalar tables as text, in `logs/csv`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ntkexp.loggers import About, Logger, Series, Sink, Tables


@dataclass
class Csv(Logger):
    def open(self, about: About) -> Sink:
        return CsvSink(about.folder)


@dataclass
class CsvSink:
    folder: Path

    def write(self, tables: Tables, series: Sequence[Series]) -> None:
        for name, frame in tables.items():
            path = self.folder / f"{name}.csv"
            frame.to_csv(path, mode="a", index=False, header=not path.exists())

    def close(self, finished: bool) -> None:
        pass
