"""Ours: whether the kernel alone finds hard what many networks find hard.

Margins of kernel regression on all other examples, against C-scores (5.3.2 of George's thesis) that
many trained networks gave. The threshold was set before a run was looked at.
"""

from __future__ import annotations

import pandas as pd

from ntkexp.claims.claim import Claim, Section, above
from ntkexp.claims.curves import spearman
from ntkexp.claims.statistics import by_run

TABLES = ("leave_one_out", "example_scores")


def with_scores(leave_one_out: pd.DataFrame, example_scores: pd.DataFrame) -> pd.DataFrame:
    """The table of left-out examples, with a column `score`."""
    return leave_one_out.join(example_scores.set_index("example")["score"], on="example")


def agreement(rows: pd.DataFrame) -> float:
    return spearman(rows["margin"], rows["score"])


def agreements(leave_one_out: pd.DataFrame, example_scores: pd.DataFrame) -> dict[str, float]:
    scores = with_scores(leave_one_out, example_scores)
    return {
        "kernel at the start" if step == 0 else "kernel after training": agreement(rows)
        for step, rows in sorted(scores.groupby("step"))
    }


CLAIMS = (
    Claim(
        id="lazy-left-out-scores",
        figure="ours",
        says="Ours: margins of left-out digits by the tangent kernel order them as C-scores do",
        paper="not said",
        number="rank correlation of margin and C-score",
        experiments=("lazy/left_out_scored",),
        tables=TABLES,
        statistic=by_run(agreements),
        holds=above(0.5),
        threshold="ours: half of a perfect order",
        section=Section.ours,
    ),
)
