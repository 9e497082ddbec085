"""Figures 5.2 (bottom), C.1 and C.6 (left): what both regimes learn where labels are wrong.

Levels and thresholds were set from the text before the runs were looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from ntkexp.claims.claim import Case, Claim, Statistic, above, below, percent, times
from ntkexp.claims.horizon import Horizon
from ntkexp.papers.lazy import noise_curves
from ntkexp.papers.lazy.noise_curves import MEASURES, at_clean, at_known, networks, pairs, smoothed
from ntkexp.results.record import Record

MLP, MLP_LAZY, RATES = "lazy/noise_mlp", "lazy/noise_mlp_lazy", "lazy/rates_mlp"
RESNET, VGG = "lazy/noise_resnet18", "lazy/noise_vgg11"
BOTH = (RESNET, f"{RESNET}_lazy", VGG, f"{VGG}_lazy", MLP, MLP_LAZY)
TITLES = {RESNET: "ResNet18, CIFAR-10", VGG: "VGG11, CIFAR-10", MLP: "MLP, MNIST"}
RATE, SMALLEST = 0.01, 1e-6
PLAIN, LAZY = {"alpha": 1.0, "lr": RATE}, {"alpha": 100.0, "lr": RATE}
CLEAN = (2.0, 1.5, 1.0, 0.5, 0.25, 0.1)
KNOWN = (0.8, 0.9, 0.95)
# What is said of a network is said by its own curves: it counts as far as it has come.
ANY = Horizon("what is compared", lambda record: True)
Value = Callable[[pd.DataFrame], float]
Gap = Callable[[pd.DataFrame, pd.DataFrame], float]


def of_each(value: Value, only: float | None = None) -> Statistic:
    """A case a network at the thesis' rate; `only`: those of one alpha."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        for (name, alpha, lr, seed), frame in _of(records):
            if np.isclose(lr, RATE) and only in (None, alpha):
                panel = f"{_title(name)}, alpha = {alpha:g}" if only is None else _title(name)
                yield Case(panel, seed, value(frame))

    return cases


def of_regimes(gap: Gap) -> Statistic:
    """A case for the two networks of a seed, alpha = 100 and alpha = 1."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        if records:
            for name, seed, lazy, plain in pairs(noise_curves.looks(records), LAZY, PLAIN):
                yield Case(_title(name), seed, gap(lazy, plain))

    return cases


def _of(records: Sequence[Record]) -> Iterable[tuple[tuple[str, float, float, int], pd.DataFrame]]:
    return networks(noise_curves.looks(records)) if records else ()


def _title(name: str) -> str:
    family = noise_curves.family(name)
    return TITLES.get(family, family)


def rise(frame: pd.DataFrame) -> float:
    noisy = smoothed(frame, "noisy")
    return float(noisy.max() / noisy[0])


def later_onset(lazy: pd.DataFrame, plain: pd.DataFrame) -> float:
    return noise_curves.onset(lazy) - noise_curves.onset(plain)


def best_test(lazy: pd.DataFrame, plain: pd.DataFrame) -> float:
    """No number unless both have passed their best by a running median of three looks."""
    curves = [smoothed(frame, "test") for frame in (lazy, plain)]
    if any(curve.argmin() == len(curve) - 1 for curve in curves):
        return float("nan")
    return float(curves[0].min() - curves[1].min())


def best_accuracy(lazy: pd.DataFrame, plain: pd.DataFrame) -> float:
    curves = [smoothed(frame, "test_known") for frame in (lazy, plain)]
    if any(curve.argmax() == len(curve) - 1 for curve in curves):
        return float("nan")
    return float(curves[1].max() - curves[0].max())


def memorised_earlier(lazy: pd.DataFrame, plain: pd.DataFrame) -> float:
    return _mean(at_known(lazy, "noisy_known", KNOWN) - at_known(plain, "noisy_known", KNOWN))


def least_linear(frame: pd.DataFrame) -> float:
    return float(frame[[*MEASURES]].min().min())


def decrease(records: Sequence[Record]) -> Iterable[Case]:
    """Rank correlation of each measure with the iteration, at alpha = 1."""
    for (name, alpha, lr, seed), frame in _of(records):
        if alpha == 1 and np.isclose(lr, RATE):
            for measure in MEASURES:
                found = float(spearmanr(frame["step"], frame[measure]).statistic)
                yield Case(f"{_title(name)}, {measure}", seed, found)


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


def _mean(gaps: np.ndarray) -> float:
    known = gaps[~np.isnan(gaps)]
    return float(known.mean()) if len(known) else float("nan")


SIGN = "the sign of the text's word"
EVALS, BOTH_TABLES = ("evals",), ("evals", "linearity")


def _claim(name: str, figure: str = "5.2", **more: object) -> Claim:
    given: dict[str, object] = {
        "id": f"lazy-fig{figure.replace('.', '').lower()}-noise-{name}",
        "figure": figure,
        "experiments": BOTH,
        "tables": EVALS,
        "holds": above(0.0),
        "threshold": SIGN,
        "horizon": ANY,
    }
    return Claim(**{**given, **more})  # type: ignore[arg-type]


CLAIMS = (
    _claim(
        "phase-1",
        says="In a first phase only clean examples are learned: the loss of the noisy ones rises",
        paper="increases",
        number="highest loss of noisy examples over that at the start",
        statistic=of_each(rise),
        holds=above(1.05),
        threshold="ours, for `increases`: by a twentieth",
        unit=times,
    ),
    _claim(
        "onset",
        says="Memorisation begins at a lower loss of the clean examples in the non-linear regime",
        paper="1.25 for 1.5",
        number="clean loss where the noisy loss peaks, alpha = 100 less alpha = 1",
        statistic=of_regimes(later_onset),
        threshold=f"{SIGN}; the levels belong to the thesis' network",
    ),
    _claim(
        "best-test",
        says="The best test loss is better in the non-linear regime",
        paper="lower",
        number="lowest test loss, alpha = 100 less alpha = 1",
        statistic=of_regimes(best_test),
    ),
    _claim(
        "linear",
        says="For alpha = 100 the measures of linearity stay near 1",
        paper="about 1",
        number="the lowest of the three measures along training",
        statistic=of_each(least_linear, only=100.0),
        tables=BOTH_TABLES,
        holds=above(0.9),
        threshold="ours, for `near 1`: .9, to which the text's Figure C.1 has another run drop",
    ),
    _claim(
        "not-linear",
        says="For alpha = 1 the measures of linearity fall steadily",
        paper="decrease steadily",
        number="rank correlation of a measure with the iteration",
        statistic=decrease,
        tables=BOTH_TABLES,
        holds=below(-0.9),
        threshold="ours, for `steadily`",
    ),
    _claim(
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
    _claim(
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
    _claim(
        "rate-is-not-linear",
        figure="C.1",
        says="At equal clean loss the smallest rate is less linear than alpha = 100 at a rate as "
        "small",
        paper="drops to 0.9, about 1",
        number="measure of linearity at the lowest clean loss that both reach, alpha = 100 less "
        "rate 1e-6",
        experiments=(MLP, RATES),
        tables=BOTH_TABLES,
        statistic=less_linear,
    ),
    _claim(
        "memorises-later",
        figure="C.6",
        says="The non-linear regime memorises later",
        paper="later",
        number="accuracy on noisy examples at clean accuracies of .8, .9 and .95, alpha = 100 less "
        "alpha = 1",
        statistic=of_regimes(memorised_earlier),
        unit=percent,
    ),
    _claim(
        "test-accuracy",
        figure="C.6",
        says="The non-linear regime comes to a higher test accuracy",
        paper="higher",
        number="highest test accuracy, alpha = 1 less alpha = 100",
        statistic=of_regimes(best_accuracy),
        unit=percent,
    ),
)
