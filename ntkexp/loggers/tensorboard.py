"""logger=[tensorboard]: event files in logs/tensorboard of the run's folder.

    tensorboard --logdir outputs            pip install 'ntkexp[tensorboard]' brings it

The files are written here, without TensorBoard: its own writers take 40 microseconds a number.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from ntkexp.loggers.base import About, Batch, Logger, Sink, State


@dataclass
class Tensorboard(Logger):
    """Every number of the scalar tables; its time is that of the commit."""

    def open(self, about: About, state: State | None) -> Sink:
        return TensorboardSink(about, state)


class TensorboardSink:
    """One file a life: TensorBoard reads all of a folder, in the order of their names."""

    def __init__(self, about: About, state: State | None) -> None:
        from ntkexp.loggers.event_file import header
        from ntkexp.loggers.files import Files

        self.files = Files(about.folder, state)
        now = time.time()
        self.file = f"events.out.tfevents.{int(now):010d}.{len(self.files.sizes):04d}.ntkexp"
        self.files.append(self.file, header(now))

    def write(self, batch: Batch) -> None:
        from ntkexp.loggers.event_file import records

        now = time.time()
        self.files.append(self.file, b"".join(records(one, now) for one in batch.series))

    def state(self) -> State:
        return self.files.state()

    def close(self, finished: bool) -> None:
        pass
