"""Studies of one's own: one that makes an array in passes, and one that reads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ntkexp.options import SEED, option
from ntkexp.references import FromRun
from ntkexp.results.table import Table, float64, int64
from ntkexp.studies.base import Found, Part, Study


@dataclass
class Draws(Study):
    """Three arrays of normal numbers, one a part."""

    tables: ClassVar = (
        Table(
            "sums",
            "the sum of a part's array",
            {"part": int64("x"), "sum": float64("x")},
        ),
    )

    seed: int = option(0, SEED)

    def parts(self) -> list[Part]:
        return [lambda number=number: self.draw(number) for number in range(3)]  # type: ignore[misc]

    def draw(self, number: int) -> Found:
        array = np.random.default_rng([self.seed, number]).normal(size=(4, 5))
        sums = self.tables[0].frame({"part": number, "sum": array.sum()})
        return {f"draw{number}": array, "sums": sums}


@dataclass
class Reader(Study):
    """The sum of an array of another run, and what its table says of it."""

    tables: ClassVar = (
        Table("read", "a sum, twice", {"own": float64("x"), "theirs": float64("x")}),
    )

    seed: int = option(0, SEED)
    array: FromRun = field(default_factory=FromRun)
    sums: FromRun = field(default_factory=FromRun)

    def compute(self) -> Found:
        theirs = self.sums.table()["sum"].iloc[1]
        return {"read": self.tables[0].frame({"own": self.array.array().sum(), "theirs": theirs})}
