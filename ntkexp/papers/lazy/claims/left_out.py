"""Ours: whether the kernel alone finds hard what many networks find hard.

Margins of kernel regression on all other examples, against C-scores (5.3.2 of George's thesis) that
many trained networks gave. The threshold was set before a run was looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd
from scipy.stats import spearmanr

from ntkexp.claims.claim import Case, Claim, Section, above
from ntkexp.results.record import Record

TABLES = ("leave_one_out", "example_scores")


def with_scores(record: Record) -> pd.DataFrame:
    """The table of left-out examples, with a column `score`."""
    scores = record.tables["example_scores"].set_index("example")["score"]
    return record.tables["leave_one_out"].join(scores, on="example")


def agreement(rows: pd.DataFrame) -> float:
    return float(spearmanr(rows["margin"], rows["score"]).statistic)


def agreements(records: Sequence[Record]) -> Iterable[Case]:
    for record in records:
        scores = with_scores(record)
        for step, rows in sorted(scores.groupby("step")):
            when = "at the start" if step == 0 else "after training"
            yield Case(f"kernel {when}", record.seed, agreement(rows))


CLAIMS = (
    Claim(
        id="lazy-left-out-scores",
        figure="ours",
        says="Ours: margins of left-out digits by the tangent kernel order them as C-scores do",
        paper="not said",
        number="rank correlation of margin and C-score",
        experiments=("lazy/left_out_scored",),
        tables=TABLES,
        statistic=agreements,
        holds=above(0.5),
        threshold="ours: half of a perfect order",
        section=Section.ours,
    ),
)
