"""Figure C.1: a small learning rate is not the lazy regime.

Levels and thresholds were set from the text before the runs were looked at; where not, it is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ntkexp.claims.claim import Case, Statistic, below, percent
from ntkexp.papers.lazy import noise_curves
from ntkexp.papers.lazy.claims.noise import CLEAN, LAZY, MLP, PLAIN, RATE, WITH_LINEARITY, claim
from ntkexp.papers.lazy.noise_curves import MEASURES, at_clean, pairs
from ntkexp.results.record import Record

RATES = "lazy/rates_mlp"
SMALLEST = 1e-6


def apart(column: str) -> Statistic:
    """The largest difference of an accuracy at equal clean losses, a rate and .01."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        if not records:
            return
        found = noise_curves.looks(records)
        for rate in sorted(set(found["lr"])):
            if np.isclose(rate, RATE):
                continue
            for _, seed, other, plain in pairs(found, {"alpha": 1.0, "lr": rate}, PLAIN):
                gaps = np.abs(at_clean(other, column, CLEAN) - at_clean(plain, column, CLEAN))
                known = gaps[~np.isnan(gaps)]
                yield Case(f"rate {rate:g}", seed, float(known.max()) if len(known) else np.nan)

    return cases


def less_linear(records: Sequence[Record]) -> Iterable[Case]:
    """Each measure at alpha = 100 less that at rate 1e-6, at the lowest clean loss both reach."""
    if not records:
        return
    smallest = {"alpha": 1.0, "lr": SMALLEST}
    for _, seed, lazy, slow in pairs(noise_curves.looks(records), LAZY, smallest):
        for measure in MEASURES:
            gaps = at_clean(lazy, measure, CLEAN) - at_clean(slow, measure, CLEAN)
            known = gaps[~np.isnan(gaps)]
            yield Case(measure, seed, float(known[-1]) if len(known) else np.nan)


CLAIMS = (
    claim(
        "rates-alike",
        figure="C.1",
        says="Accuracy on noisy examples follows the same trajectory at every learning rate",
        paper="the same trajectory",
        number="largest difference from rate .01 at equal clean losses",
        experiments=(MLP, RATES),
        statistic=apart("noisy_known"),
        holds=below(0.05),
        threshold="ours, for `the same`: five points",
        unit=percent,
    ),
    claim(
        "rates-alike-test",
        figure="C.1",
        says="And so does test accuracy",
        paper="the same trajectory",
        number="largest difference from rate .01 at equal clean losses",
        experiments=(MLP, RATES),
        statistic=apart("test_known"),
        holds=below(0.05),
        threshold="that of noisy examples; written when the curves had been seen",
        unit=percent,
    ),
    claim(
        "rate-is-not-linear",
        figure="C.1",
        says="At equal clean loss the smallest rate is less linear than alpha = 100 at a rate as "
        "small",
        paper="drops to 0.9, about 1",
        number="measure of linearity at the lowest clean loss that both reach, alpha = 100 less "
        "rate 1e-6",
        experiments=(MLP, RATES),
        tables=WITH_LINEARITY,
        statistic=less_linear,
    ),
)
