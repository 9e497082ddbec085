"""Figures A.11 and A.12: paths between images and their adversarials within a class."""

from __future__ import annotations

import pandas as pd

from ntkexp.claims.claim import above, percent, sharing
from ntkexp.claims.statistics import by_run


def paths_that_stay(image_paths: pd.DataFrame) -> pd.Series:
    """By the kinds of both ends, of pairs whose straight line leaves the class."""
    return image_paths[~image_paths["line_stays"]].groupby("ends")["path_stays"].mean()


def lines_that_stay(image_paths: pd.DataFrame) -> pd.Series:
    return image_paths.groupby("ends")["line_stays"].mean()


def longer(image_paths: pd.DataFrame) -> float:
    """The mean length of paths over that of straight lines, less 1."""
    return float(image_paths["length"].mean() - 1)


paths = sharing(
    "spectral-exp9-",
    figure="A.11",
    experiments=("spectral/paths",),
    tables=("image_paths",),
    number="share of pairs whose path stays in the class, of those whose straight line leaves it",
    statistic=by_run(paths_that_stay),
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
        also=("straight lines that stay in it, of all pairs", by_run(lines_that_stay)),
    ),
    paths(
        "most",
        says="Between most of those pairs there is such a path",
        paper="all",
        holds=above(0.9),
        threshold="ours: 90 %, images and adversarials apart",
        also=("how much longer paths are; the text's are 3.0 ± 0.3 %", by_run(longer)),
    ),
)
