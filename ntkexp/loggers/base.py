"""A logger: its options, and a sink that takes the numbers of a run commit by commit.

It gets rows once they are committed, so it never has rows that a kill undoes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from ntkexp.components import Component
from ntkexp.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

Tables = Mapping[str, "pd.DataFrame"]


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


class Sink(Protocol):
    """Takes the rows of a run in one of its lives."""

    def write(self, tables: Tables, series: Sequence[Series]) -> None:
        """Take the rows of a commit, which come as tables and as series; they are with the other
        program, or on disk, when this returns."""

    def close(self, finished: bool) -> None:
        """End with this life of the run; `finished` is true if the run is finished, too."""


@dataclass
class Logger(Component):
    """The base of all loggers.

    `needs` is the package that it imports, and the name of the extra that installs it. A logger
    that `begins_anew` has an empty folder in each life and is told all rows from the first;
    another one keeps its folder, and is told what came after the last commit that it took.
    """

    kind: ClassVar[str] = "logger"
    needs: ClassVar[str | None] = None
    begins_anew: ClassVar[bool] = True

    def check(self, config: Any = None) -> None:
        if self.needs is not None and find_spec(self.needs) is None:
            raise UserError(f"logger={self.name}: needs pip install 'ntkexp[{self.needs}]'")

    def open(self, about: About) -> Sink:
        """A sink for this life of the run."""
        raise self.lacks("open(about)")
