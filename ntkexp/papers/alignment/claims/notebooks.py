"""The curves of Figures 2 and 3 as the authors' released notebooks plot them.

VGG19 of 64 channels, lr 0.01, batch 128, weight decay 5e-4, crops and flips: recipe=released.
Values were read off the plots, effective ranks to within 25.
"""

from __future__ import annotations

import pandas as pd

from ntkexp.claims.claim import (
    Claim,
    Interval,
    Section,
    Statistic,
    Unit,
    above,
    below,
    between,
    percent,
    plain,
    times,
)
from ntkexp.claims.curves import level, smooth
from ntkexp.claims.horizon import Horizon, iteration, memorised
from ntkexp.claims.statistics import by_run
from ntkexp.papers.alignment.claims.spectrum import ALL, CLEAN, NOISE20, NOISE50, PANELS, until
from ntkexp.results.numbers.curves import cka, effective_ranks, layer_cka
from ntkexp.results.numbers.evals import curve

READING_ERROR = 25
FROM_PLOT = f"read off the notebooks' plot, to within {READING_ERROR}"
# The lowest effective rank of the first few hundred iterations, and where the curve is later.
LOW = 500
EARLY_MINIMUM = {CLEAN: 110, NOISE20: 140, NOISE50: 150}
# What the lowest single probe, which was asked before the running median, gives on today's runs.
ONE_PROBE = {
    name: f"one probe became a median of three; by one probe it {verdict}"
    for name, verdict in ((CLEAN, "fails"), (NOISE20, "holds as well"), (NOISE50, "holds as well"))
}
LEVELS = {
    CLEAN: {10_000: 300, 40_000: 270, 100_000: 270},
    NOISE20: {10_000: 170, 40_000: 310, 100_000: 490},
    NOISE50: {10_000: 180, 40_000: 280, 100_000: 520},
}
MEMORISED, LATE = 10_000, 100_000
RANDOM_LABELS = {NOISE20: 0.2, NOISE50: 0.5}


def early_minimum(spectrum: pd.DataFrame) -> float:
    return float(smooth(until(effective_ranks(spectrum), LOW)).min())


def level_of_rank(spectrum: pd.DataFrame, step: int) -> float:
    return level(effective_ranks(spectrum), step)


def second_rise(spectrum: pd.DataFrame) -> float:
    return level_of_rank(spectrum, LATE) / level_of_rank(spectrum, MEMORISED)


def fall_of_accuracy(evals: pd.DataFrame) -> float:
    accuracy = curve(evals, "test")
    return float(accuracy.max() - accuracy.iloc[-1])


def highest(alignment: pd.DataFrame, step: int, splits: tuple[str, ...]) -> float:
    """The whole kernel's highest alignment to an iteration, on any of these splits."""
    return max(float(until(cka(alignment, split), step).max()) for split in splits)


def what_is_left(alignment: pd.DataFrame) -> float:
    """The last test alignment over the highest."""
    test = cka(alignment, "test")
    return float(test.iloc[-1] / test.max())


def best_layer(alignment: pd.DataFrame) -> float:
    return max(float(layer_cka(alignment, split).to_numpy().max()) for split in ("train", "test"))


def _curve(
    name: str,
    figure: str,
    experiment: str,
    says: str,
    paper: str,
    number: str,
    statistic: Statistic,
    holds: Interval,
    horizon: Horizon,
    threshold: str = FROM_PLOT,
    unit: Unit = plain,
    seen: str = "",
) -> Claim:
    return Claim(
        id=f"fig{figure:0>2}-notebook-{name}",
        figure=figure,
        says=f"{says}, {PANELS[experiment]}",
        paper=paper,
        number=number,
        experiments=(experiment,),
        tables=("spectrum", "evals") if figure == "2" else ("alignment", "evals"),
        statistic=statistic,
        holds=holds,
        threshold=threshold,
        horizon=horizon,
        seen="the horizon asked for memorised labels; without that it fails"
        if horizon.memorised
        else seen,
        unit=unit,
        section=Section.notebooks,
        recipes=("released",),
    )


def _around(value: float) -> Interval:
    return between(value - READING_ERROR, value + READING_ERROR)


def _ranks(experiment: str) -> tuple[Claim, ...]:
    name = experiment.removeprefix("vgg19_")
    early = EARLY_MINIMUM[experiment]
    lowest = _curve(
        f"early-minimum-{name}", "2", experiment, "Early minimum of the effective rank",
        f"{early} ± {READING_ERROR}",
        f"lowest effective rank to iteration {LOW}, train, running median of three probes",
        by_run(early_minimum), _around(early), iteration(LOW), seen=ONE_PROBE[experiment],
    )  # fmt: skip
    return (lowest, *(_level(experiment, step, at) for step, at in LEVELS[experiment].items()))


def _late(experiment: str) -> Horizon:
    """Late in noisy runs the plots show memorising; a run that does not cannot decide it."""
    share = RANDOM_LABELS.get(experiment)
    return iteration(LATE) if share is None else memorised(LATE, share)


def _level(experiment: str, step: int, expected: int) -> Claim:
    name = experiment.removeprefix("vgg19_")
    return _curve(
        f"level-{name}-{step}", "2", experiment, f"Effective rank at iteration {step:,}",
        f"{expected} ± {READING_ERROR}", "median of the three probes nearest to it, train",
        by_run(level_of_rank, step=step), _around(expected),
        _late(experiment) if step == LATE else iteration(step),
    )  # fmt: skip


def _rise(experiment: str, says: str, holds: Interval) -> Claim:
    low, high = LEVELS[experiment][MEMORISED], LEVELS[experiment][LATE]
    return _curve(
        f"second-rise-{experiment.removeprefix('vgg19_')}", "2", experiment, says,
        f"about {high / low:.1f} ×",
        f"effective rank at iteration {LATE:,} over that at {MEMORISED:,}, train",
        by_run(second_rise), holds, _late(experiment),
        f"{FROM_PLOT}, both values: {high} over {low}", times,
    )  # fmt: skip


def _ratio(experiment: str) -> Interval:
    """The interval of the ratio of two levels, given the error with which each was read."""
    low, high = LEVELS[experiment][MEMORISED], LEVELS[experiment][LATE]
    error = READING_ERROR
    return between((high - error) / (low + error), (high + error) / (low - error))


CLAIMS = (
    *(claim for experiment in ALL for claim in _ranks(experiment)),
    _rise(NOISE20, "The effective rank rises a second time", _ratio(NOISE20)),
    _rise(NOISE50, "The effective rank rises a second time", _ratio(NOISE50)),
    _rise(CLEAN, "The effective rank does not rise a second time", below(_ratio(CLEAN).high)),
    _curve(
        "accuracy-falls", "2", NOISE50,
        "The test accuracy peaks and falls while the labels are memorised", "78 % to 52 %",
        "highest less last test accuracy", by_run(fall_of_accuracy), above(0.1), _late(NOISE50),
        "ours: ten points of the 26 that the plot shows by iteration 350,000", percent,
    ),
    _curve(
        "total", "3", CLEAN, "The whole kernel's alignment reaches a quarter", "up to 0.25",
        f"highest CKA to iteration {LATE:,}, train or test",
        by_run(highest, step=LATE, splits=("train", "test")),
        between(0.2, 0.3), iteration(LATE), "read off the notebooks' plot, to within 0.05",
    ),
    _curve(
        "layers", "3", CLEAN, "The best layer's alignment reaches a half", "up to 0.5",
        "highest CKA of a layer, train or test", by_run(best_layer), above(0.45), iteration(LATE),
        "read off the notebooks' plot, to within 0.05",
    ),
    _curve(
        "train-low", "3", NOISE50, "The train alignment stays low until the labels are memorised",
        "< 0.06", f"highest train CKA to iteration {MEMORISED:,}",
        by_run(highest, step=MEMORISED, splits=("train",)), below(0.06),
        iteration(MEMORISED), "read off the notebooks' plot",
    ),
    _curve(
        "test-falls", "3", NOISE50, "The test alignment peaks and falls", "falls",
        "last test CKA over the highest", by_run(what_is_left), below(0.8), iteration(LATE),
        "ours: by a fifth or more", percent,
    ),
)  # fmt: skip
