"""A study: options and tables of a computation without a network to train.

@dataclass
class LinearModes(Study):                 # ntkexp/studies/linear_modes.py
    tables: ClassVar = (Table(...),)
    n: int = option(20, count("training examples"))

    def compute(self) -> Found:
        return {"linear_modes": {"step": np.arange(3), ...}}

A longer computation gives `parts` instead, a list of functions without arguments. Results that are
no table, such as eigenvectors, are arrays: the run keeps `vectors` as the file vectors.npy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from ntkexp.components import Component, inside
from ntkexp.errors import UserError
from ntkexp.results.table import Table, declared

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from ntkexp.training.place import Place
    from ntkexp.training.work import Work

# Table -> its columns, or a frame; file -> array; and a function that computes some.
Found: TypeAlias = "Mapping[str, Mapping[str, object] | pd.DataFrame | NDArray[np.generic]]"
Part: TypeAlias = "Callable[[], Found]"


@dataclass
class Study(Component):
    """The base of all studies. `may_be_infinite` names the columns of tables where infinity is an
    answer; in all others it is refused."""

    kind: ClassVar[str] = "study"
    tables: ClassVar[tuple[Table, ...]] = ()
    may_be_infinite: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def files(self) -> Mapping[str, str]:
        """The checksums of the data files that it reads, by name; a run keeps them, and is not
        resumed or taken for done with others. Here those of the data among its options."""
        options = [option for option, group in inside(type(self)).items() if group == "data"]
        data = filter(None, (getattr(self, option) for option in options))
        return {file: sha256 for dataset in data for file, sha256 in dataset.files().items()}

    def work(self, place: Place) -> Work | None:
        """The work of a study that advances step by step (ntkexp/studies/stepped.py), such as two
        players or passes over a kernel; None for one that is computed in parts.

        The loop brings it to its end; probes look at it, and it is kept like a training run.
        `place` has the run's config and device, and loads data (ntkexp/training/place.py).
        """
        return None

    def parts(self) -> Sequence[Part]:
        """The functions that are called one after the other; a commit may come between two.

        Each depends on the options alone. What all of them need is computed here.
        """
        return [self.compute]

    def compute(self) -> Found:
        """All tables and arrays of a study in one part."""
        raise self.lacks("compute()")

    def run(self) -> Mapping[str, pd.DataFrame]:
        """All tables, computed at once; arrays are left out."""
        import pandas as pd

        frames: dict[str, list[pd.DataFrame]] = {table.name: [] for table in self.tables}
        for part in self.parts():
            for name, result in self.results_of(part).items():
                if isinstance(result, pd.DataFrame):
                    frames[name].append(result)
        return {
            table.name: pd.concat(frames[table.name], ignore_index=True)
            if frames[table.name]
            else table.empty()
            for table in self.tables
        }

    def results_of(self, part: Part) -> Mapping[str, pd.DataFrame | NDArray[np.generic]]:
        """The results of a part; refuses numbers that are not finite where they must be."""
        import numpy as np

        # An overflow on the way is judged by the results, not by a warning.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            try:
                computed = part()
            except np.linalg.LinAlgError as error:
                raise UserError(f"study={self.name}: {error}; expected milder values") from error
        tables = {table.name: table for table in self.tables}
        results: dict[str, pd.DataFrame | NDArray[np.generic]] = {}
        for name, result in computed.items():
            if isinstance(result, np.ndarray):
                if not np.isfinite(result).all():
                    raise UserError(f"study={self.name}: {name} has values that are no numbers")
                results[name] = result
                continue
            columns = {str(column): values for column, values in result.items()}
            frame = declared(tables, name).frame(columns)
            self._refuse_infinite(name, frame)
            results[name] = frame
        return results

    def _refuse_infinite(self, table: str, frame: pd.DataFrame) -> None:
        import numpy as np

        may_be_infinite = self.may_be_infinite.get(table, ())
        for column in frame.select_dtypes("float"):
            wrong = np.flatnonzero(~np.isfinite(frame[column].to_numpy()))
            if len(wrong) and column not in may_be_infinite:
                value = frame[column].iloc[int(wrong[0])]
                raise UserError(
                    f"study={self.name}: {column} of table {table} is {value} in row {wrong[0]}; "
                    "expected milder options"
                )
