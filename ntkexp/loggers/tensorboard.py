"""logger=[tensorboard]: event files in logs/tensorboard of the run's folder.

tensorboard --logdir outputs            pip install 'ntkexp[tensorboard]' brings it
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ntkexp.loggers.base import About, Logger, Series, Sink, Tables


@dataclass
class Tensorboard(Logger):
    """Every number of the scalar tables; its time is that of the commit."""

    needs: ClassVar[str] = "tensorboard"

    def open(self, about: About) -> Sink:
        return TensorboardSink(about)


class TensorboardSink:
    def __init__(self, about: About) -> None:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.summary.writer.record_writer import RecordWriter

        now = time.time()
        name = f"events.out.tfevents.{int(now)}.ntkexp"
        self.writer = RecordWriter((about.folder / name).open("wb"))
        self._add([Event(wall_time=now, file_version="brain.Event:2")])

    def write(self, tables: Tables, series: Sequence[Series]) -> None:
        now = time.time()
        self._add(event for of_words in series for event in events(of_words, now))

    def close(self, finished: bool) -> None:
        self.writer.close()

    def _add(self, events: Iterable[Any]) -> None:
        for event in events:
            self.writer.write(event.SerializeToString())
        self.writer.flush()


def events(series: Series, seconds: float) -> Iterator[Any]:
    """An event for each step of a series, with all its values; `seconds` is when they were told."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    tags = [f"{series.name}/{name}" for name in series.values]
    rows = zip(*(values.tolist() for values in series.values.values()), strict=True)
    for step, row in zip(series.steps.tolist(), rows, strict=True):
        values = [Summary.Value(tag=t, simple_value=v) for t, v in zip(tags, row, strict=True)]
        yield Event(wall_time=seconds, step=step, summary=Summary(value=values))
