"""Figure 8: eigenvectors of a random network's tangent kernel and Fourier modes."""

from __future__ import annotations

import pandas as pd

from ntkexp.claims.claim import Claim, above, below, between, each_seed, percent
from ntkexp.claims.curves import rank_correlation


def first_half(peaks: pd.DataFrame) -> pd.DataFrame:
    return peaks[peaks["mode"] < len(peaks) / 2]


def order(peaks: pd.DataFrame) -> float:
    return rank_correlation(peaks["mode"], peaks["frequency"])


def slope(peaks: pd.DataFrame) -> float:
    """Peak frequency over half the index, median over the first half; a sine and a cosine of each
    frequency make it one."""
    half = first_half(peaks[peaks["mode"] > 0])
    return float((half["frequency"] / (half["mode"] / 2)).median())


def decay(peaks: pd.DataFrame) -> float:
    eigenvalues = peaks.sort_values("mode")["eigenvalue"].to_numpy()
    return float(eigenvalues[9] / eigenvalues[0])


CLAIMS = (
    Claim(
        id="fig08-frequency-order",
        figure=8,
        says="Eigenvectors of smaller eigenvalues have higher frequencies",
        paper="increasing",
        number="rank correlation of index and peak frequency, all modes",
        experiments=("fourier_modes",),
        tables=("peak_frequency",),
        statistic=each_seed("peak_frequency", order),
        holds=above(0.7),
    ),
    Claim(
        id="fig08-first-half",
        figure=8,
        says="In the first half of the spectrum the order is remarkably clean",
        paper="remarkable",
        number="rank correlation of index and peak frequency, first half",
        experiments=("fourier_modes",),
        tables=("peak_frequency",),
        statistic=each_seed("peak_frequency", lambda peaks: order(first_half(peaks))),
        holds=above(0.9),
    ),
    Claim(
        id="fig08-fourier-modes",
        figure=8,
        says="In the first half the modes are close to the Fourier modes, two of each frequency",
        paper="close",
        number="peak frequency over half the index, median of the first half",
        experiments=("fourier_modes",),
        tables=("peak_frequency",),
        statistic=each_seed("peak_frequency", slope),
        holds=between(0.75, 1.25),
    ),
    Claim(
        id="fig08-decay",
        figure=8,
        says="The eigenvalues decay fast (the printed number is one random network's)",
        paper="about 0.4 %",
        number="λ10 / λ1",
        experiments=("fourier_modes",),
        tables=("peak_frequency",),
        statistic=each_seed("peak_frequency", decay),
        holds=below(0.02),
        unit=percent,
    ),
)
