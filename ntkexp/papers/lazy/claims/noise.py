"""Figures 5.2 (bottom) and C.6 (left): what both regimes learn where labels are wrong.

Levels and thresholds were set from the text before the runs were looked at, but where `seen` says
otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from ntkexp.claims.claim import SIGN, above, below, percent, sharing, times
from ntkexp.claims.curves import spearman
from ntkexp.claims.horizon import Horizon, either
from ntkexp.claims.statistics import Group, Groups, by, together, with_words
from ntkexp.papers.lazy.curves import (
    MEASURES,
    WRONG_LABELS,
    Columns,
    at_levels,
    at_losses,
    fallen,
    family,
    keyed,
    looks,
    networks,
    onset,
    pairs,
    peak,
    smoothed,
)
from ntkexp.results.record import Record
from ntkexp.results.select import reached_its_end
from ntkexp.theory.float64 import Array

MLP, MLP_LAZY = "lazy/noise_mlp", "lazy/noise_mlp_lazy"
RESNET, VGG, CNN = "lazy/noise_resnet18", "lazy/noise_vgg11", "lazy/noise_cnn"
BOTH = (RESNET, f"{RESNET}_lazy", CNN, f"{CNN}_lazy", MLP, MLP_LAZY)
TITLES = {
    RESNET: "ResNet18, CIFAR-10", VGG: "VGG11, CIFAR-10",
    CNN: "small CNN, CIFAR-10", MLP: "MLP, MNIST",
    "lazy/c_scores_mlp": "MLP, MNIST", "lazy/c_scores_vgg11": "VGG11, CIFAR-10",
}  # fmt: skip
RATE = 0.01
FALLEN = 0.8
PLAIN, LAZY = {"alpha": 1.0, "lr": RATE}, {"alpha": 100.0, "lr": RATE}
CLEAN = (2.0, 1.5, 1.0, 0.5, 0.25, 0.1)
# Accuracies on wrong labels at which memorising is taken to have begun: chance, and twice as much.
MEMORISED = (0.1, 0.2)
# What is near 1: that to which a run drops that the text calls slightly non-linear (Figure C.1).
NEAR_1 = 0.9
# The clean loss where the thesis' lazy network begins to memorise.
LEARNED = 1.5
# What compares networks at levels counts as far as both have come.
ANY = Horizon("what is compared", lambda record: True)


def has_learned(record: Record) -> bool:
    """True if all networks came to `LEARNED`, on the examples with right labels where some are
    wrong: a network that has hardly moved stays linear, which decides nothing."""
    evals = record.tables["evals"]
    subset = "intact" if "intact" in set(evals["subset"]) else "all"
    clean = evals[(evals["split"] == "train") & (evals["subset"] == subset)]
    members = [key for key in ("transform.alpha", "seed") if key in clean]
    of_each = clean.groupby(members or (lambda _: 0))["loss"]
    return bool(of_each.min().max() < LEARNED)


def has_left(record: Record) -> bool:
    """True if a measure of linearity fell below `NEAR_1` at alpha = 100, at any look."""
    linearity = keyed(record, record.tables["linearity"])
    lazy = linearity[(linearity["alpha"] == 100) & (linearity["split"] == "train")]
    return bool((lazy[[*MEASURES]] < NEAR_1).any(axis=None))


# What is said of a whole run.
THROUGHOUT = Horizon(
    f"the experiment's own end, with a loss below {LEARNED:g}",
    lambda record: reached_its_end(record) and has_learned(record),
)
STAYS = either(THROUGHOUT, Horizon(f"a measure below {NEAR_1:g}", has_left))
# What a lazy network is, wherever two regimes are compared.
PREMISE = f"; alpha = 100 counts as far as the least of its measures stays at {NEAR_1:g} or more"
PREMISE_SEEN = (
    f"this premise was set, in place of a mean of three measures of {NEAR_1:g} at every look"
)
STILL_HOLDS = f"{PREMISE_SEEN}, by which it holds, too"
BY_LEVEL_SEEN = f"{PREMISE_SEEN}; and when levels were judged one by one, in place of their mean"


def while_lazy(lazy: pd.DataFrame) -> pd.DataFrame:
    """The looks at a network with alpha = 100 before one of its measures first falls below
    `NEAR_1`."""
    return lazy[~(lazy[[*MEASURES]] < NEAR_1).any(axis=1).cummax()]


def regimes(columns: Columns = WRONG_LABELS) -> Groups:
    """(panel, seed, looks while lazy at alpha = 100, looks at alpha = 1)."""

    def groups(records: Sequence[Record]) -> Iterator[Group]:
        for name, seed, lazy, plain in pairs(looks(records, columns), LAZY, PLAIN):
            yield title(name), seed, while_lazy(lazy), plain

    return groups


def at_the_rate(only: float | None = None, columns: Columns = WRONG_LABELS) -> Groups:
    """(panel, seed, looks) of each network at the thesis' rate; `only`: those of one alpha."""

    def groups(records: Sequence[Record]) -> Iterator[Group]:
        for (name, alpha, lr, seed), frame in networks(looks(records, columns)):
            if np.isclose(lr, RATE) and only in (None, alpha):
                alphas = f", alpha = {alpha:g}" if only is None else ""
                yield f"{title(name)}{alphas}", seed, frame

    return groups


by_regimes = by(regimes())


def at(levels: Sequence[float], values: Array) -> dict[str, float]:
    """A number by each level."""
    return {f"at {level:g}": float(value) for level, value in zip(levels, values, strict=True)}


def title(name: str) -> str:
    return TITLES.get(family(name), family(name))


def rise(frame: pd.DataFrame) -> float:
    noisy = smoothed(frame, "noisy")
    return float(noisy.max() / noisy[0])


def later_onset(lazy: pd.DataFrame, plain: pd.DataFrame) -> float:
    return onset(lazy) - onset(plain)


def later_peak(lazy: pd.DataFrame, plain: pd.DataFrame) -> float:
    return peak(lazy) - peak(plain)


def later_fall(lazy: pd.DataFrame, plain: pd.DataFrame) -> float:
    return fallen(lazy, FALLEN) - fallen(plain, FALLEN)


def best_test(lazy: pd.DataFrame, plain: pd.DataFrame) -> float:
    """The lowest test loss at alpha = 100 less that at 1; nan unless both have passed it."""
    curves = [smoothed(frame, "test") for frame in (lazy, plain)]
    if any(curve.argmin() == len(curve) - 1 for curve in curves):
        return float("nan")
    return float(curves[0].min() - curves[1].min())


def best_accuracy(lazy: pd.DataFrame, plain: pd.DataFrame) -> float:
    curves = [smoothed(frame, "test_known") for frame in (lazy, plain)]
    if any(curve.argmax() == len(curve) - 1 for curve in curves):
        return float("nan")
    return float(curves[1].max() - curves[0].max())


def begins_later(lazy: pd.DataFrame, plain: pd.DataFrame) -> dict[str, float]:
    return at(MEMORISED, memorising_from(plain) - memorising_from(lazy))


def memorising_from(frame: pd.DataFrame) -> Array:
    """The accuracy on clean examples where that on noisy ones, which falls while the clean ones are
    learned, is back at each of `MEMORISED`; no number where it is not, or where little has been
    learned and all is near chance."""
    if frame["clean"].min() > LEARNED:
        return np.full(len(MEMORISED), np.nan)
    lowest = int(smoothed(frame, "noisy_known").argmin())
    return at_levels(frame[lowest:], "clean_known", "noisy_known", MEMORISED)


def least_linear(frame: pd.DataFrame) -> float:
    return float(frame[[*MEASURES]].min().min())


def decrease(frame: pd.DataFrame) -> dict[str, float]:
    """Rank correlation of each measure with the iteration."""
    return {measure: spearman(frame["step"], frame[measure]) for measure in MEASURES}


def higher_noisy_loss(lazy: pd.DataFrame, plain: pd.DataFrame) -> dict[str, float]:
    return at(CLEAN, noisy_loss(plain) - noisy_loss(lazy))


def noisy_loss(frame: pd.DataFrame) -> Array:
    return at_losses(frame, "noisy", "clean", CLEAN)


WITH_LINEARITY = ("evals", "linearity")
COMMON = {
    "experiments": BOTH,
    "tables": ("evals",),
    "holds": above(0.0),
    "horizon": ANY,
}
fig52, figc1, figc6 = (
    sharing(f"lazy-{figure}-noise-", figure=name, **COMMON)
    for figure, name in (("fig52", "5.2"), ("figc1", "C.1"), ("figc6", "C.6"))
)


CLAIMS = (
    fig52(
        "phase-1",
        says="In a first phase only clean examples are learned: the loss of the noisy ones rises",
        paper="increases",
        number="highest loss of noisy examples over that at the start",
        statistic=by(at_the_rate())(rise),
        holds=above(1.05),
        threshold="ours, for `increases`: by a twentieth",
        unit=times,
    ),
    fig52(
        "onset",
        says="Memorisation begins at a lower loss of the clean examples in the non-linear regime",
        paper="1.25 for 1.5",
        number="clean loss where the noisy loss, as a running median of three looks, peaks, "
        f"alpha = 100 less alpha = 1{PREMISE}",
        statistic=by_regimes(later_onset),
        also=(
            "without a median, and where the noisy loss has fallen below 80 % of its peak",
            together(
                with_words("peak", by_regimes(later_peak)),
                with_words("fallen", by_regimes(later_fall)),
            ),
        ),
        threshold=f"{SIGN}; the levels belong to the thesis' network",
        seen=STILL_HOLDS,
    ),
    fig52(
        "noisy-loss",
        says="At equal loss of the clean examples the noisy ones have a higher loss in the "
        "non-linear regime",
        paper="remains higher",
        number="loss of noisy examples at clean losses from 2 to .1, alpha = 1 less "
        f"alpha = 100{PREMISE}",
        statistic=by_regimes(higher_noisy_loss),
        seen=f"this was written; when {BY_LEVEL_SEEN}, by which it holds",
    ),
    fig52(
        "best-test",
        says="The best test loss is better in the non-linear regime",
        paper="lower",
        number=f"lowest test loss, alpha = 100 less alpha = 1{PREMISE}",
        statistic=by_regimes(best_test),
        seen=STILL_HOLDS,
    ),
    fig52(
        "linear",
        says="For alpha = 100 the measures of linearity stay near 1",
        paper="about 1",
        number="the lowest of the three measures along training",
        statistic=by(at_the_rate(100.0))(least_linear),
        tables=WITH_LINEARITY,
        horizon=STAYS,
        holds=above(NEAR_1),
        threshold="ours, for `near 1`, and a mild one: .9, to which a run drops that the text "
        "calls slightly non-linear (Figure C.1)",
    ),
    fig52(
        "not-linear",
        says="For alpha = 1 the measures of linearity fall steadily",
        paper="decrease steadily",
        number="rank correlation of a measure with the iteration",
        statistic=by(at_the_rate(1.0))(decrease),
        tables=WITH_LINEARITY,
        horizon=THROUGHOUT,
        holds=below(-0.9),
        threshold="ours, for `steadily`",
    ),
    figc6(
        "memorises-later",
        says="The non-linear regime begins to memorise later",
        paper="later",
        number="clean accuracy where the accuracy on noisy examples is back at .1 and .2, "
        f"alpha = 1 less alpha = 100{PREMISE}",
        statistic=by_regimes(begins_later),
        threshold=f"{SIGN}; the levels, chance and twice as much, are ours",
        seen=f"{PREMISE_SEEN}; when these levels took the place of the first look at a ninth, by "
        "which it was partly; and when that took the place of the accuracy on noisy examples at "
        "clean accuracies of .8 to .95, where nothing is memorised yet and by which it holds",
        unit=percent,
    ),
    figc6(
        "test-accuracy",
        says="The non-linear regime comes to a higher test accuracy",
        paper="higher",
        number=f"highest test accuracy, alpha = 1 less alpha = 100{PREMISE}",
        statistic=by_regimes(best_accuracy),
        unit=percent,
        seen=STILL_HOLDS,
    ),
)
