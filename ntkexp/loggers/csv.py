"""logger=[csv]: the scalar tables as text, a file a table, in logs/csv of the run's folder."""

from __future__ import annotations

from dataclasses import dataclass

from ntkexp.loggers.base import About, Batch, Files, Logger, Sink, State


@dataclass
class Csv(Logger):
    """The rows as they are in the tables, with all columns."""

    def open(self, about: About, state: State | None) -> Sink:
        return CsvSink(about, state)


class CsvSink:
    def __init__(self, about: About, state: State | None) -> None:
        self.files = Files(about.folder, state)

    def write(self, batch: Batch) -> None:
        for name, frame in batch.tables.items():
            file = f"{name}.csv"
            text = frame.to_csv(index=False, header=file not in self.files.sizes)
            self.files.append(file, text.encode())

    def state(self) -> State:
        return self.files.state()

    def close(self, finished: bool) -> None:
        pass
