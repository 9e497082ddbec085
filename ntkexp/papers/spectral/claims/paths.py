"""Figures A.11 and A.12: paths between images and their adversarials within a class."""

from __future__ import annotations

import pandas as pd

from ntkexp.claims.claim import above, between, percent, sharing
from ntkexp.claims.statistics import by_run


def paths_that_stay(image_paths: pd.DataFrame) -> pd.Series:
    """By the kinds of both ends, of pairs whose straight line leaves the class."""
    return image_paths[~image_paths["line_stays"]].groupby("ends")["path_stays"].mean()


def lines_that_stay(image_paths: pd.DataFrame) -> pd.Series:
    return image_paths.groupby("ends")["line_stays"].mean()


def longer(image_paths: pd.DataFrame) -> float:
    """The mean length of paths over that of straight lines, less 1."""
    return float(image_paths["length"].mean() - 1)


def certain(image_paths: pd.DataFrame) -> pd.Series:
    """By the kinds of both ends, the share of paths whose least certain point has at least 95 %."""
    return (image_paths["path_certainty"] >= CERTAIN).groupby(image_paths["ends"]).mean()


def certain_between(image_paths: pd.DataFrame) -> float:
    """The same of paths from image to adversarial, of those whose ends both have it on another
    path: what a path has at least, its ends have."""
    sure = image_paths["path_certainty"] >= CERTAIN
    ends = image_paths.assign(sure=sure).melt(
        ["class", "sure"], ["first", "second"], ignore_index=False
    )
    with_it = ends.groupby(["class", "value"])["sure"].transform("sum").to_numpy()
    known = (ends["sure"] < with_it).groupby(level=0).all()
    return float(sure[known & (image_paths["ends"] == "image and adversarial")].mean())


CERTAIN = 0.95
paths = sharing(
    "spectral-exp9-",
    figure="A.11",
    experiments=("spectral/paths",),
    tables=("image_paths",),
    unit=percent,
)

CLAIMS = (
    paths(
        "all",
        says="Between all pairs of images and adversarials of a class there is a path that crosses "
        "no decision boundary",
        paper="all",
        number="share of pairs whose path stays in the class, of those whose straight line leaves "
        "it",
        statistic=by_run(paths_that_stay),
        holds=above(0.99),
        threshold="ours: 99 %, images and adversarials apart",
        also=("straight lines that stay in it, of all pairs", by_run(lines_that_stay)),
    ),
    paths(
        "certain",
        figure="A.12",
        says="Along the paths from images to adversarials the class keeps a certainty of 95 %",
        paper="at least 95 %",
        number="share of paths from image to adversarial whose least certain point has 95 % or "
        "more, of those whose ends both have it by another path",
        statistic=by_run(certain_between),
        holds=above(0.99),
        threshold="ours: 99 %, as for the paths",
        seen="it took the place of all paths of all three kinds, by which it is partly: wherever a "
        "path fails, one of its ends has 95 % on no path",
        also=("of all paths", by_run(certain)),
    ),
    paths(
        "length",
        figure="A.12",
        says="Paths are essentially linear: a little longer than the straight line",
        paper="(3.0 ± 0.3) %",
        number="their mean length over that of the line, less 1",
        statistic=by_run(longer),
        holds=between(0.027, 0.033),
        threshold="the text's, with its error",
        seen="this was written; it had been told beside another row",
    ),
)
