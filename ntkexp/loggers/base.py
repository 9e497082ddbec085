"""A logger: its options, and a sink that takes the numbers of a run commit by commit.

It gets rows once they are committed, so it never has rows that a kill undoes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ntkexp.components import Component
from ntkexp.errors import UserError
from ntkexp.results.files import is_plain_name, remove_tree

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

State = Mapping[str, Any]


@dataclass(frozen=True)
class About:
    """The run that is mirrored. `folder` is the logger's own, inside the run's; `config` has dotted
    keys, without those that say how or where it is made."""

    experiment: str
    run: str
    folder: Path
    config: Mapping[str, Any]


@dataclass(frozen=True)
class Series:
    """Numbers at steps in rising order: `name` is evals/test/all, a column of `values` loss."""

    name: str
    steps: NDArray[np.int64]
    values: Mapping[str, NDArray[np.float64]]

    def thinned(self, most: int) -> Series:
        """At most so many steps, evenly spaced, with the last one."""
        import numpy as np

        count = len(self.steps)
        if count <= most:
            return self
        kept = np.unique(np.linspace(count - 1, 0, most).astype(int))
        values = {name: numbers[kept] for name, numbers in self.values.items()}
        return Series(self.name, self.steps[kept], values)


@dataclass(frozen=True)
class Batch:
    """The rows of one commit, as tables and as series.

    `again`: a life ended while these were written, and nobody knows how many of them were.
    """

    tables: Mapping[str, pd.DataFrame]
    series: Sequence[Series] = field(default_factory=list)
    again: bool = False


class Sink(Protocol):
    """Takes the batches of a run, one life after the other."""

    def write(self, batch: Batch) -> None:
        """Take a batch in; it is with the other program, or on disk, when this returns."""

    def state(self) -> State:
        """The facts that `open` needs to go on from here, as JSON."""

    def close(self, finished: bool) -> None:
        """The life is over; `finished` says whether the run is."""


@dataclass
class Logger(Component):
    """The base of all loggers. `needs` is the package that it imports, and the name of the extra
    that installs it."""

    kind: ClassVar[str] = "logger"
    needs: ClassVar[str | None] = None

    def check(self, config: Any = None) -> None:
        if self.needs is not None and find_spec(self.needs) is None:
            raise UserError(f"logger={self.name}: needs pip install 'ntkexp[{self.needs}]'")

    def open(self, about: About, state: State | None) -> Sink:
        """A sink that goes on from `state`, or begins where that is None.

        What was written after that state was given is forgotten, where it can be.
        """
        raise NotImplementedError


class Files:
    """Files in a logger's folder that grow by what is appended to them.

    `state` says how long each was; what was written after that is cut off.
    """

    def __init__(self, folder: Path, state: State | None) -> None:
        self.folder = folder
        self.sizes: dict[str, int] = dict(state["sizes"]) if state else {}
        for path in list(folder.iterdir()):
            if path.name not in self.sizes:
                remove_tree(path)
        for name, size in self.sizes.items():
            if not is_plain_name(name) or (folder / name).is_symlink():
                raise OSError(f"{folder / name} is no file of this logger")
            if (folder / name).stat().st_size < size:
                raise OSError(f"{folder / name} is shorter than it was")
            os.truncate(folder / name, size)

    def append(self, name: str, content: bytes) -> None:
        with (self.folder / name).open("ab") as file:
            file.write(content)
        self.sizes[name] = self.sizes.get(name, 0) + len(content)

    def state(self) -> State:
        return {"sizes": dict(self.sizes)}
