"""Figures A.11 and A.12: paths between images and their adversarials within a class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from ntkexp.claims.claim import Case, Statistic, above, percent, sharing
from ntkexp.results.record import Record


def share(column: str, *, bent: bool) -> Statistic:
    """By the kinds of both ends the mean of a column, of pairs whose straight line leaves the class
    if `bent`, or else of all."""

    def cases(records: Sequence[Record]) -> Iterator[Case]:
        for record in records:
            table = record.tables["image_paths"]
            chosen = table[~table["line_stays"]] if bent else table
            for ends, rows in chosen.groupby("ends"):
                yield Case(str(ends), record.seed, float(rows[column].mean()))

    return cases


def longer(records: Sequence[Record]) -> Iterator[Case]:
    """The mean length of paths over that of straight lines, less 1."""
    for record in records:
        table: pd.DataFrame = record.tables["image_paths"]
        yield Case("", record.seed, float(table["length"].mean() - 1))


paths = sharing(
    "spectral-exp9-",
    figure="A.11",
    experiments=("spectral/paths",),
    tables=("image_paths",),
    number="share of pairs whose path stays in the class, of those whose straight line leaves it",
    statistic=share("path_stays", bent=True),
    unit=percent,
)

CLAIMS = (
    paths(
        "all",
        says="Between all pairs of images and adversarials of a class there is a path that crosses "
        "no decision boundary",
        paper="all",
        holds=above(0.99),
        threshold="ours: 99 %, images and adversarials apart",
        also=("straight lines that stay in it, of all pairs", share("line_stays", bent=False)),
    ),
    paths(
        "most",
        says="Between most of those pairs there is such a path",
        paper="all",
        holds=above(0.9),
        threshold="ours: 90 %, images and adversarials apart",
        also=("how much longer paths are; the text's are 3.0 ± 0.3 %", longer),
    ),
)
