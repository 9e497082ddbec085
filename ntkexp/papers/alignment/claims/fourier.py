"""Figure 8: eigenvectors of a random network's tangent kernel and Fourier modes."""

from __future__ import annotations

import pandas as pd

from ntkexp.claims.claim import Section, above, each_seed, percent, sharing, within_factor
from ntkexp.claims.curves import rank_correlation


def first_half(peaks: pd.DataFrame) -> pd.DataFrame:
    return peaks[peaks["mode"] < len(peaks) / 2]


def order(peaks: pd.DataFrame) -> float:
    return rank_correlation(peaks["mode"], peaks["frequency"])


def concentration(peaks: pd.DataFrame) -> float:
    """The share of an eigenvector's energy at its peak frequency, mean over the first half."""
    return float(first_half(peaks)["share"].mean())


def decay(peaks: pd.DataFrame) -> float:
    eigenvalues = peaks.sort_values("mode")["eigenvalue"].to_numpy()
    return float(eigenvalues[9] / eigenvalues[0])


claim = sharing(
    "fig08-",
    figure="8",
    experiments=("fourier_modes",),
    tables=("peak_frequency",),
)


CLAIMS = (
    claim(
        "frequency-order",
        says="Eigenvectors of smaller eigenvalues have higher frequencies",
        paper="increasing",
        number="rank correlation of index and peak frequency, all modes",
        statistic=each_seed("peak_frequency", order),
        holds=above(0.7),
        threshold="ours: the index explains half of the variance of the frequencies' ranks",
    ),
    claim(
        "first-half",
        says="In the first half of the spectrum the order is nearly perfect",
        paper="not said",
        number="rank correlation of index and peak frequency, first half",
        statistic=each_seed("peak_frequency", lambda peaks: order(first_half(peaks))),
        holds=above(0.9),
        threshold="ours: nine tenths of a perfect order; the text's `remarkable` is said of the "
        "alignment with Fourier modes, fig08-fourier-modes",
        section=Section.ours,
    ),
    claim(
        "fourier-modes",
        says="In the first half of the spectrum the eigenvectors are remarkably aligned with "
        "Fourier modes",
        paper="remarkable",
        number="share of energy at the peak frequency, mean over the first half",
        statistic=each_seed("peak_frequency", concentration),
        holds=above(0.5),
        threshold="ours, for `remarkable`: half of an eigenvector is one Fourier mode; cosines of "
        "whole and half periods, as smooth as can be, have 80 % on average",
        seen="this took the place of the peak frequency over half the index, between 0.75 and "
        "1.25, by which it holds",
        unit=percent,
    ),
    claim(
        "decay",
        says="The eigenvalues decay fast, λ10 / λ1 is about 4 ‰",
        paper="about 0.4 %",
        number="λ10 / λ1",
        statistic=each_seed("peak_frequency", decay),
        holds=within_factor(0.004, 2),
        threshold="the text's number, within a factor of two: it is one network's",
        seen="≤ 2 % became the printed number within a factor of two; by ≤ 2 % it holds",
        unit=percent,
    ),
)
