"""What a study is: options and tables of a computation without a network to train.

@dataclass
class LinearModes(Study):                 # ntkexp/studies/linear_modes.py
    tables: ClassVar = (Table(...),)
    n: int = option(20, count("training examples"))

    def compute(self) -> Found:
        from ntkexp.studies.computations.linear_modes import frames
        return frames(self)

One that takes longer gives `parts` instead, a list of functions without arguments. What is no
table, such as eigenvectors, is an array: the run keeps `vectors` as the file vectors.npy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from ntkexp.components import Component
from ntkexp.errors import UserError
from ntkexp.results.table import Table

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import torch
    from numpy.typing import NDArray

    from ntkexp.training.work import Work

# table -> rows, file -> array; and what brings some.
Frames: TypeAlias = "Mapping[str, pd.DataFrame]"
Found: TypeAlias = "Mapping[str, pd.DataFrame | NDArray[np.generic]]"
Part: TypeAlias = "Callable[[], Found]"


@dataclass
class Study(Component):
    """The base of all studies. `may_be_infinite` names the columns of tables where infinity is an
    answer; in all others it is refused."""

    kind: ClassVar[str] = "study"
    tables: ClassVar[tuple[Table, ...]] = ()
    may_be_infinite: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def work(self, device: torch.device) -> Work | None:
        """What the loop brings to its end, of a study that is more than a computation in parts.

        Whatever advances step by step (ntkexp/training/work.py): two players, passes over a
        kernel. It is looked at by probes and kept like a training run.
        """
        return None

    def parts(self) -> Sequence[Part]:
        """What is worked out one after the other; a commit may come between two.

        Each depends on the options alone. What all need is worked out here.
        """
        return [self.compute]

    def compute(self) -> Found:
        """All tables, of a study in one part. What is heavy is imported here."""
        raise NotImplementedError

    def run(self) -> Frames:
        """All tables at once; arrays are left out."""
        import pandas as pd

        found: dict[str, list[pd.DataFrame]] = {table.name: [] for table in self.tables}
        for part in self.parts():
            for name, frame in self.found_by(part).items():
                if isinstance(frame, pd.DataFrame):
                    found[name].append(frame)
        return {
            table.name: pd.concat(found[table.name], ignore_index=True)
            if found[table.name]
            else table.empty()
            for table in self.tables
        }

    def found_by(self, part: Part) -> Found:
        """What a part brings, every number finite but where the study says it may not be."""
        import numpy as np
        import pandas as pd

        # What overflows on the way is judged by what comes out, not by a warning.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            try:
                found = part()
            except np.linalg.LinAlgError as error:
                raise UserError(f"study={self.name}: {error}; expected milder values") from error
        for name, one in found.items():
            if isinstance(one, pd.DataFrame):
                self._refuse_infinite(name, one)
            elif not np.isfinite(one).all():
                raise UserError(
                    f"study={self.name}: {name} has values that are no numbers; expected milder "
                    "options"
                )
        return found

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
