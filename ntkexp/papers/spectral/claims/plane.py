"""Section 4: the frequencies in the plane of what fits a signal on a curve; and when the waves of
Experiment 3 are learned along the eigenvectors of a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pandas as pd

from ntkexp.claims.claim import Claim, above, below, sharing, times
from ntkexp.claims.curves import rank_correlation
from ntkexp.claims.statistics import Group, by, by_run
from ntkexp.papers.spectral.claims.noisy_digits import cells
from ntkexp.papers.spectral.numbers import first_steps
from ntkexp.results.record import Record

L = "data.petals"
NETWORKS, FEATURES = "spectral/petal_maps", "spectral/petal_features"


def frequencies(radial_spectrum: pd.DataFrame) -> pd.Series:
    """By number of petals the mean frequency in the plane, sum k zeta / sum zeta, over networks."""
    rows = radial_spectrum.assign(weighted=radial_spectrum["k"] * radial_spectrum["zeta"])
    sums = rows.groupby([L, "seed"])[["weighted", "zeta"]].sum()
    means: pd.Series = (sums["weighted"] / sums["zeta"]).groupby(L).mean()
    return means


def with_more_petals(radial_spectrum: pd.DataFrame) -> dict[str, float]:
    mean = frequencies(radial_spectrum)
    return {f"L = {few} to {many}": mean[many] / mean[few] for few, many in pairwise(mean.index)}


def beside_features(records: Sequence[Record]) -> Iterator[Group]:
    """(panel, seed, mean frequencies of networks, a row a scale of those of features)."""
    means = [(run.experiment, frequencies(run.tables["radial_spectrum"])) for run in records]
    others = [mean for name, mean in means if name == FEATURES]
    for name, mean in means:
        if name == NETWORKS and others:
            yield "", 0, mean, pd.DataFrame(others)


def over_the_lowest(networks: pd.Series, features: pd.DataFrame) -> dict[str, float]:
    ratios = networks / features.min()
    return {f"L = {petals}": float(ratio) for petals, ratio in ratios.items()}


def learned_in_order(kernel_spectrum: pd.DataFrame) -> dict[str, float]:
    """By k the order of n and of the first step at which half of the targets' energy is left."""
    found = {}
    for k, part in cells(kernel_spectrum).groupby("k"):
        sums = part.groupby(["n", "step"])[["left", "target"]].sum()
        first = first_steps((sums["left"] <= sums["target"] / 2).unstack("n"))
        found[f"k = {k:.3g}"] = rank_correlation(first.index, first)
    return found


plane = sharing("spectral-sec4-", figure="ours", tables=("radial_spectrum",), unit=times,
                seen="this was written, and of one network and two curves the numbers")  # fmt: skip
CLAIMS = (
    plane(
        "lower",
        figure="3.8",
        says="On a curve with more petals lower frequencies of the network capture the same signal",
        paper="lower",
        number="mean frequency in the plane, Σ k ζ / Σ ζ, at a loss of 0.5, over that with the "
        "next fewer petals, means over networks",
        experiments=(NETWORKS,),
        statistic=by_run(with_more_petals),
        holds=below(1.0),
    ),
    plane(
        "low-solutions",
        figure=None,
        says="Of all functions that fit, networks express those of low frequency",
        paper="biased towards; suggested",
        number="that frequency over the lowest of linear functions of random Fourier features, of "
        "three scales, at the same loss",
        experiments=(NETWORKS, FEATURES),
        statistic=by(beside_features)(over_the_lowest),
        holds=below(1.0),
    ),
    Claim(
        "spectral-fig34-basis",
        "3.4",
        "The waves' targets, too, are learned from low to high generalised frequency",
        paper="gradually",
        number="Spearman's correlation of n with the first step at which half of the targets' "
        "energy along a group of eigenvectors is left",
        experiments=("spectral/wave_basis",),
        tables=("kernel_spectrum",),
        statistic=by_run(learned_in_order),
        holds=above(0.8),
        threshold="ours",
        seen="this was written",
    ),
)
