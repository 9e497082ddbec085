"""What a study is: options and tables of a computation without a network to train.

@dataclass
class LinearModes(Study):                 # ntkexp/studies/linear_modes.py
    tables: ClassVar = (Table(...),)
    n: int = option(20, count("training examples"))

    def compute(self, *, progress: bool) -> dict[str, pd.DataFrame]:
        from ntkexp.studies.computations.linear_modes import run
        return run(self, progress=progress)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ntkexp.components import Component
from ntkexp.errors import UserError
from ntkexp.results.table import Rows, Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class Study(Component):
    """The base of all studies. `may_be_infinite` names the columns of tables where infinity is an
    answer; in all others it is refused."""

    kind: ClassVar[str] = "study"
    tables: ClassVar[tuple[Table, ...]] = ()
    may_be_infinite: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def compute(self, *, progress: bool) -> dict[str, pd.DataFrame]:
        """Its tables by name. What is heavy is imported here."""
        raise NotImplementedError

    def parts(self) -> int:
        """How many parts it is worked out in; a commit may come between two."""
        return 1

    def part(self, k: int) -> Rows:
        """The rows of part k, a function of the options and k alone."""
        frames = self.run(progress=False).items()
        return {table: {str(n): frame[n].to_numpy() for n in frame} for table, frame in frames}

    def run(self, *, progress: bool) -> dict[str, pd.DataFrame]:
        """What it computes, every number finite but where the study says that it may not be."""
        import numpy as np

        # What overflows on the way is judged by what comes out, not by a warning.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            try:
                frames = self.compute(progress=progress)
            except np.linalg.LinAlgError as error:
                raise UserError(f"study={self.name}: {error}; expected milder values") from error
        for table, frame in frames.items():
            self._refuse_infinite(table, frame)
        return frames

    def _refuse_infinite(self, table: str, frame: pd.DataFrame) -> None:
        import numpy as np

        free = self.may_be_infinite.get(table, ())
        for column in frame.select_dtypes("float"):
            wrong = np.flatnonzero(~np.isfinite(frame[column].to_numpy()))
            if len(wrong) and column not in free:
                value = frame[column].iloc[int(wrong[0])]
                raise UserError(
                    f"study={self.name}: {column} of table {table} is {value} in row "
                    f"{wrong[0]}; the values given lead out of the numbers there are, expected "
                    "milder ones"
                )
