"""Figures 2 and 14: the spectrum of the tangent kernel of VGG19 on CIFAR-10."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from ntkexp.claims.claim import (
    Case,
    Claim,
    Statistic,
    above,
    below,
    between,
    each_run,
    percent,
    times,
)
from ntkexp.claims.curves import (
    accuracy,
    at,
    best_step,
    effective_ranks,
    fitted_step,
    rank_correlation,
    shown,
    spectra,
    trace_ratio,
)
from ntkexp.claims.record import Record

PANELS = {
    "vgg19_clean": "clean",
    "vgg19_noise20": "20 % noise",
    "vgg19_noise50": "50 % noise",
    "vgg19_clean_lr003": "clean",
    "vgg19_noise50_lr003": "50 % noise",
}
CLEAN, NOISE20, NOISE50 = "vgg19_clean", "vgg19_noise20", "vgg19_noise50"
ALL = (CLEAN, NOISE20, NOISE50)
NOISY = (NOISE20, NOISE50)
SLOW = ("vgg19_clean_lr003", "vgg19_noise50_lr003")
TABLES = ("spectrum", "evals")

# Read off the plots of the released notebooks: the lowest effective rank of the first few hundred
# iterations, and where the curve settles at the end.
EARLY_MINIMUM = {CLEAN: 110, NOISE20: 140, NOISE50: 150}
LATE_LEVEL = {CLEAN: 265, NOISE20: 470, NOISE50: 515}
READING_ERROR = 25
EARLY = 500


def growth(record: Record, of: str) -> float:
    """How many times larger a statistic of the eigenvalues is once the network has fitted."""
    table = spectra(record, "train")
    curve: pd.Series = table.agg(of, axis=1)
    return at(curve, fitted_step(record)) / float(curve.iloc[0])


def lowest_share(record: Record) -> float:
    """The lowest effective rank on the way to fitting, over that at initialisation."""
    curve = effective_ranks(record)
    return float(curve[curve.index <= fitted_step(record)].min() / curve.iloc[0])


def at_lowest_rank(record: Record) -> float:
    """T_40 where the effective rank is lowest."""
    curve = effective_ranks(record)
    before = curve[curve.index <= fitted_step(record)]
    return float(trace_ratio(record, 40).iloc[before.to_numpy().argmin()])


def unlikeness(record: Record) -> float:
    """By what factor train and test differ at a typical probe, in the curve that differs most."""
    pairs = [
        (spectra(record, split).max(axis=1), spectra(record, split).mean(axis=1),
         effective_ranks(record, split))
        for split in ("train", "test")
    ]  # fmt: skip
    ratios = [np.abs(np.log(train / test)).median() for train, test in zip(*pairs, strict=True)]
    return float(np.exp(max(ratios)))


def against_accuracy(record: Record) -> float:
    """Rank correlation over probes of the train kernel's effective rank and the test accuracy."""
    ranks = shown(effective_ranks(record))
    tests = accuracy(record, "test").reindex(ranks.index)
    kept = tests.notna()
    return rank_correlation(ranks[kept], tests[kept])


def second_rise(record: Record) -> float:
    """Effective rank at the end over that where the test accuracy is highest."""
    curve = effective_ranks(record)
    return float(curve.iloc[-1]) / at(curve, best_step(record))


def fall_of_accuracy(record: Record) -> float:
    curve = accuracy(record, "test")
    return float(curve.max() - curve.iloc[-1])


def early_minimum(record: Record) -> float:
    curve = effective_ranks(record)
    return float(curve[curve.index <= EARLY].min())


def late_level(record: Record) -> float:
    """The median effective rank of the last five probes."""
    return float(effective_ranks(record).iloc[-5:].median())


def slower_over_faster(slow: str, fast: str) -> Statistic:
    """The lowest effective rank at the small learning rate over that at the large one."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        lowest = {
            name: {r.seed: float(effective_ranks(r).min()) for r in records if r.experiment == name}
            for name in (slow, fast)
        }
        for seed in sorted(lowest[slow].keys() & lowest[fast].keys()):
            yield Case("", seed, lowest[slow][seed] / lowest[fast][seed])

    return cases


def _notebook(experiment: str) -> tuple[Claim, Claim]:
    name = experiment.removeprefix("vgg19_")
    early, late = EARLY_MINIMUM[experiment], LATE_LEVEL[experiment]
    return (
        Claim(
            id=f"fig02-notebook-early-minimum-{name}",
            figure=2,
            says=f"Early minimum of the effective rank, {PANELS[experiment]}",
            paper=f"{early} ± {READING_ERROR}",
            number=f"lowest effective rank of the first {EARLY} iterations, train",
            experiments=(experiment,),
            tables=("spectrum",),
            statistic=each_run(early_minimum),
            holds=between(early - READING_ERROR, early + READING_ERROR),
            source="notebooks",
        ),
        Claim(
            id=f"fig02-notebook-late-level-{name}",
            figure=2,
            says=f"Level to which the effective rank settles, {PANELS[experiment]}",
            paper=f"{late} ± {READING_ERROR}",
            number="effective rank at the end, train",
            experiments=(experiment,),
            tables=("spectrum",),
            statistic=each_run(late_level),
            holds=between(late - READING_ERROR, late + READING_ERROR),
            source="notebooks",
        ),
    )


def _drop(experiment: str, bound: float) -> Claim:
    return Claim(
        id=f"fig02-erank-drop-{experiment.removeprefix('vgg19_')}",
        figure=2,
        says=f"The effective rank falls to less than {percent.told(bound)} of its initial value, "
        f"{PANELS[experiment]}",
        paper=f"< {percent.told(bound)}",
        number="lowest effective rank over the initial one, train",
        experiments=(experiment,),
        tables=TABLES,
        statistic=each_run(lowest_share),
        holds=below(bound),
        unit=percent,
    )


def _level(slow: str, fast: str) -> Claim:
    return Claim(
        id=f"fig14-level-{fast.removeprefix('vgg19_')}",
        figure=14,
        says="At lr 0.003 the effective rank falls to a level about 3 times higher, "
        f"{PANELS[fast]}",
        paper="about 3 ×",
        number="lowest effective rank at lr 0.003 over that at lr 0.01",
        experiments=(slow, fast),
        tables=("spectrum",),
        statistic=slower_over_faster(slow, fast),
        holds=between(2.0, 4.5),
        unit=times,
        jointly=True,
    )


CLAIMS = (
    Claim(
        id="fig02-max-growth",
        figure=2,
        says="The largest eigenvalue gains more than two orders of magnitude by 100 % training "
        "accuracy",
        paper="> 100 ×",
        number="λ_max when fitted over λ_max at initialisation, train",
        experiments=ALL,
        tables=TABLES,
        statistic=each_run(lambda record: growth(record, "max"), PANELS),
        holds=above(100),
        unit=times,
    ),
    Claim(
        id="fig02-mean-growth",
        figure=2,
        says="The average eigenvalue gains more than two orders of magnitude as well",
        paper="> 100 ×",
        number="mean eigenvalue when fitted over that at initialisation, train",
        experiments=ALL,
        tables=TABLES,
        statistic=each_run(lambda record: growth(record, "mean"), PANELS),
        holds=above(100),
        unit=times,
    ),
    Claim(
        id="fig02-anisotropic-growth",
        figure=2,
        says="Larger eigenvalues grow faster than smaller ones",
        paper="faster",
        number="growth of λ_max over growth of the median eigenvalue, until fitted, train",
        experiments=ALL,
        tables=TABLES,
        statistic=each_run(lambda r: growth(r, "max") / growth(r, "median"), PANELS),
        holds=above(1.0),
        unit=times,
    ),
    _drop(CLEAN, 0.10),
    _drop(NOISE50, 0.20),
    Claim(
        id="fig02-t40",
        figure=2,
        says="The 40 largest of 1000 eigenvalues come to hold more than 70 % of the trace",
        paper="> 70 %",
        number="T_40 where the effective rank is lowest, train",
        experiments=ALL,
        tables=TABLES,
        statistic=each_run(at_lowest_rank, PANELS),
        holds=above(0.7),
        unit=percent,
    ),
    Claim(
        id="fig02-train-test-likeness",
        figure=2,
        says="Spectra on training and on test examples look strikingly alike",
        paper="alike",
        number="median factor between train and test, worst of λ_max, mean and effective rank",
        experiments=ALL,
        tables=("spectrum",),
        statistic=each_run(unlikeness, PANELS),
        holds=below(1.5),
        unit=times,
    ),
    Claim(
        id="fig02-erank-against-accuracy",
        figure=2,
        says="At high noise the train kernel's effective rank is anti-correlated with the test "
        "accuracy",
        paper="nicely",
        number="rank correlation over the probes from iteration 10 on",
        experiments=(NOISE50,),
        tables=TABLES,
        statistic=each_run(against_accuracy),
        holds=below(-0.5),
    ),
    Claim(
        id="fig02-late-rise",
        figure=2,
        says="At high noise the effective rank rises again when the test accuracy falls",
        paper="rises",
        number="effective rank at the end over that at the best test accuracy, train",
        experiments=(NOISE50,),
        tables=TABLES,
        statistic=each_run(second_rise),
        holds=above(1.1),
        unit=times,
    ),
    *(claim for experiment in ALL for claim in _notebook(experiment)),
    Claim(
        id="fig02-notebook-second-rise",
        figure=2,
        says="With noise the effective rank rises a second time, to about three times its low",
        paper="about 2.9 ×",
        number="effective rank at the end over that at the best test accuracy, train",
        experiments=NOISY,
        tables=TABLES,
        statistic=each_run(second_rise, PANELS),
        holds=between(1.9, 4.4),
        unit=times,
        source="notebooks",
    ),
    Claim(
        id="fig02-notebook-no-second-rise",
        figure=2,
        says="Without noise the effective rank does not rise a second time",
        paper="about 0.9 ×",
        number="effective rank at the end over that at the best test accuracy, train",
        experiments=(CLEAN,),
        tables=TABLES,
        statistic=each_run(second_rise),
        holds=below(1.25),
        unit=times,
        source="notebooks",
    ),
    Claim(
        id="fig02-notebook-accuracy-falls",
        figure=2,
        says="At 50 % noise the test accuracy peaks and falls while the labels are memorised",
        paper="78 % to 52 %",
        number="highest less last test accuracy",
        experiments=(NOISE50,),
        tables=("evals",),
        statistic=each_run(fall_of_accuracy),
        holds=above(0.1),
        unit=percent,
        source="notebooks",
    ),
    Claim(
        id="fig14-early-drop",
        figure=14,
        says="At lr 0.003 the effective rank drops early as well",
        paper="drops",
        number="lowest effective rank over the initial one, train",
        experiments=SLOW,
        tables=TABLES,
        statistic=each_run(lowest_share, PANELS),
        holds=below(0.7),
        unit=percent,
    ),
    _level("vgg19_clean_lr003", CLEAN),
    _level("vgg19_noise50_lr003", NOISE50),
)
