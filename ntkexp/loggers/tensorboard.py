"""logger=[tensorboard]: event files in logs/tensorboard of the run's folder.

tensorboard --logdir outputs            pip install 'ntkexp[tensorboard]' brings it
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from ntkexp.loggers.base import About, Batch, Files, Logger, Series, Sink, State


@dataclass
class Tensorboard(Logger):
    """Every number of the scalar tables; its time is that of the commit."""

    needs: ClassVar[str] = "tensorboard"

    def open(self, about: About, state: State | None) -> Sink:
        return TensorboardSink(about, state)


class TensorboardSink:
    """One file a life: TensorBoard reads all of a folder, in the order of their names."""

    def __init__(self, about: About, state: State | None) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        self.files = Files(about.folder, state)
        now = time.time()
        self.file = f"events.out.tfevents.{int(now):010d}.{len(self.files.sizes):04d}.ntkexp"
        self._append([Event(wall_time=now, file_version="brain.Event:2")])

    def write(self, batch: Batch) -> None:
        now = time.time()
        self._append([event for series in batch.series for event in events(series, now)])

    def state(self) -> State:
        return self.files.state()

    def close(self, finished: bool) -> None:
        pass

    def _append(self, events: list[Any]) -> None:
        from tensorboard.summary.writer.record_writer import RecordWriter

        content = io.BytesIO()
        writer = RecordWriter(content)
        for event in events:
            writer.write(event.SerializeToString())
        self.files.append(self.file, content.getvalue())


def events(series: Series, seconds: float) -> Iterator[Any]:
    """An event for each step of a series, with all its values; `seconds` is when they were told."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary

    tags = [f"{series.name}/{name}" for name in series.values]
    rows = zip(*(values.tolist() for values in series.values.values()), strict=True)
    for step, row in zip(series.steps.tolist(), rows, strict=True):
        values = [Summary.Value(tag=t, simple_value=v) for t, v in zip(tags, row, strict=True)]
        yield Event(wall_time=seconds, step=step, summary=Summary(value=values))
