"""Figure 8: eigenvectors of a random network's tangent kernel and Fourier modes."""

from __future__ import annotations

import pandas as pd

from ntkexp.claims.claim import Section, above, percent, sharing, within_factor
from ntkexp.claims.curves import rank_correlation
from ntkexp.claims.statistics import by_network


def first_half(peak_frequency: pd.DataFrame) -> pd.DataFrame:
    return peak_frequency[peak_frequency["mode"] < len(peak_frequency) / 2]


def order(peak_frequency: pd.DataFrame) -> float:
    return rank_correlation(peak_frequency["mode"], peak_frequency["frequency"])


def order_in_first_half(peak_frequency: pd.DataFrame) -> float:
    return order(first_half(peak_frequency))


def concentration(peak_frequency: pd.DataFrame) -> float:
    """The share of an eigenvector's energy at its peak frequency, mean over the first half."""
    return float(first_half(peak_frequency)["share"].mean())


def decay(peak_frequency: pd.DataFrame) -> float:
    eigenvalues = peak_frequency.sort_values("mode")["eigenvalue"].to_numpy()
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
        statistic=by_network(order),
        holds=above(0.7),
        threshold="ours: the index explains half of the variance of the frequencies' ranks",
    ),
    claim(
        "first-half",
        says="In the first half of the spectrum the order is nearly perfect",
        paper="not said",
        number="rank correlation of index and peak frequency, first half",
        statistic=by_network(order_in_first_half),
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
        statistic=by_network(concentration),
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
        statistic=by_network(decay),
        holds=within_factor(0.004, 2),
        threshold="the text's number, within a factor of two: it is one network's",
        seen="≤ 2 % became the printed number within a factor of two; by ≤ 2 % it holds",
        unit=percent,
    ),
)
