"""The mutual information of pairs in a file, as `ntkexp.information.estimate` finds it.

ntkexp study +exp=information/estimate study.file=pairs.npz
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import torch

from ntkexp.foreign.pairs import pairs_in
from ntkexp.information.estimate import FOLDS, STEPS, refuse, scaled, summary, value
from ntkexp.options import SEED, Rule, count, option
from ntkexp.results.table import Table, boolean, float64, int64
from ntkexp.studies.base import Study
from ntkexp.studies.stepped import Row, SteppedWork

if TYPE_CHECKING:
    from ntkexp.training.place import Place

FOLD_VALUES = Table(
    "information_folds",
    "the bound on a fold of a network that never saw it",
    {
        "step": int64("the network, from 0"),
        "fold": int64("from 0 to 4"),
        "shuffled": boolean("z is in another order, and the truth is 0"),
        "value": float64("Donsker-Varadhan, nats"),
    },
)
ESTIMATE = Table(
    "information_estimate",
    "the mutual information of the pairs, nats",
    {
        "value": float64("mean over folds"),
        "error": float64("standard error of that mean"),
        "shuffled": float64("mean over folds of shuffled pairs; should be near 0"),
        "shuffled_error": float64("standard error of that mean"),
        "ksg": float64("by nearest neighbours"),
        "pairs": int64("rows of the file"),
        "limit": float64("half of log n, n being the pairs of a fold: above it nothing is sure"),
    },
)
PAIRS = Rule(
    lambda name: not name or name.endswith((".npz", ".parquet")), "an .npz or a .parquet file"
)


@dataclass
class InformationEstimate(Study):
    """`file`: an .npz with arrays x and z, or a .parquet with columns that begin so. A step is the
    training of a network; there are ten (ntkexp/information/estimate.py)."""

    tables: ClassVar = (FOLD_VALUES, ESTIMATE)
    tiny: ClassVar = {"updates": 5}

    file: str = option("", PAIRS, "the pairs: an .npz or a .parquet file")
    updates: int = option(STEPS, count("updates"), "updates of each network")
    seed: int = option(0, SEED, "the start of all random numbers")

    def files(self) -> Mapping[str, str]:
        pairs_in(self.file)  # refuses what is no such file
        return {self.file: hashlib.sha256(Path(self.file).read_bytes()).hexdigest()}

    def work(self, place: Place) -> FoldByFold:
        return FoldByFold(self)


class FoldByFold(SteppedWork):
    table = FOLD_VALUES.name
    offers: frozenset[str] = frozenset()

    def __init__(self, study: InformationEstimate) -> None:
        super().__init__(last=2 * FOLDS, seed=study.seed)
        self.study = study
        x, z = pairs_in(study.file)
        self.pairs = scaled("x", x), scaled("z", z)
        refuse(*self.pairs)
        self.memory = {"values": torch.zeros(self.last, dtype=torch.float64)}

    def update(self, step: int) -> Row:
        found = value(self.pairs, step, self.study.updates, self.seed)
        self.memory["values"][step] = found
        if step == self.last - 1:
            self.tell()
        shuffled, fold = divmod(step, FOLDS)
        return {"fold": fold, "shuffled": bool(shuffled), "value": found}

    def tell(self) -> None:
        all_of_it = summary(self.memory["values"].tolist(), self.pairs)
        self.write(ESTIMATE.name, {**asdict(all_of_it), "limit": all_of_it.limit})
        print(all_of_it)
        if all_of_it.warning:
            print(f"warning: {all_of_it.warning}")
