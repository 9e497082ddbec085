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
from ntkexp.results.table import Table

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
    """The base of all studies."""

    kind: ClassVar[str] = "study"
    tables: ClassVar[tuple[Table, ...]] = ()

    def files(self) -> Mapping[str, str]:
        """The checksums of the data files that it reads, by name; a run keeps them, and is not
        resumed or taken for done with others. Here those of the data among its options."""
        options = [option for option, group in inside(type(self)).items() if group == "data"]
        parts = [getattr(self, option) for option in options]
        return {file: sha256 for part in parts if part for file, sha256 in part.files().items()}

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
        raise NotImplementedError

    def run(self) -> Mapping[str, pd.DataFrame]:
        """All tables, computed at once; arrays are left out."""
        import pandas as pd

        frames: dict[str, list[pd.DataFrame]] = {table.name: [] for table in self.tables}
        for part in self.parts():
            for name, result in self.found_by(part).items():
                if isinstance(result, pd.DataFrame):
                    frames[name].append(result)
        return {
            table.name: pd.concat(frames[table.name], ignore_index=True)
            if frames[table.name]
            else table.empty()
            for table in self.tables
        }

    def found_by(self, part: Part) -> Mapping[str, pd.DataFrame | NDArray[np.generic]]:
        """The results of a part, tables as frames."""
        import numpy as np

        # A number that overflows is infinite in the tables, too.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            found = part()
        tables = {table.name: table for table in self.tables}
        return {
            name: result
            if isinstance(result, np.ndarray)
            else tables[name].frame({str(column): values for column, values in result.items()})
            for name, result in found.items()
        }
