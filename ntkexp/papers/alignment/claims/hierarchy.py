"""Figures 4 and 13: easy examples before difficult ones, and what depth does to that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

from ntkexp.claims.claim import (
    Claim,
    Section,
    above,
    below,
    sharing,
    times,
)
from ntkexp.claims.curves import at, crossing, shown
from ntkexp.claims.statistics import Group, Number, by, by_run, trend
from ntkexp.results.numbers.curves import cka
from ntkexp.results.numbers.evals import rows
from ntkexp.results.record import Record

PANELS = {"easy_difficult_noise": "random labels", "easy_difficult_kmnist": "KMNIST"}
NOISE, KMNIST = PANELS
DEPTH = "easy_difficult_depth"


def curves(alignment: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    return cka(alignment, "train", subset="easy"), cka(alignment, "train", subset="difficult")


def highest_ratio(alignment: pd.DataFrame) -> float:
    easy, difficult = curves(alignment)
    return float(easy.max() / difficult.max())


def ratio_rise(alignment: pd.DataFrame) -> float:
    """The highest ratio of easy to difficult alignment along training over that at the start."""
    easy, difficult = curves(alignment)
    ratio = easy / difficult
    return float(ratio.max() / ratio.iloc[0])


def accuracy_delay(evals: pd.DataFrame) -> float:
    """The iterations to half of the difficult examples over those to half of the easy ones."""
    easy, difficult = (half_right(evals, subset) for subset in ("easy", "difficult"))
    return (1 + difficult) / (1 + easy)


def half_right(evals: pd.DataFrame, subset: str) -> float:
    """The first look at which the network has half of a subset right; nan if there is none."""
    chosen = rows(evals, "train", subset)
    steps = chosen[chosen["accuracy"] >= 0.5]["step"]
    return float(steps.min()) if len(steps) else float("nan")


def behind(alignment: pd.DataFrame) -> float:
    """Difficult over easy alignment when the easy one is halfway up."""
    easy, difficult = curves(alignment)
    half = crossing(easy, 0.5)
    return at(difficult, half) / at(easy, half)


def late_rise(alignment: pd.DataFrame) -> float:
    """Highest difficult alignment after the easy one is halfway up, over its value there."""
    easy, difficult = curves(alignment)
    half = crossing(easy, 0.5)
    return float(difficult[difficult.index >= half].max()) / at(difficult, half)


def both_kinds(runs: Sequence[Record]) -> Iterator[Group]:
    """("", seed, alignment on KMNIST, on random labels) of each seed that has both."""
    tables = {(run.experiment, run.seed): run.tables["alignment"] for run in runs}
    for seed in sorted({seed for _, seed in tables}):
        if {(NOISE, seed), (KMNIST, seed)} <= tables.keys():
            yield "", seed, tables[KMNIST, seed], tables[NOISE, seed]


def rises_more(kmnist: pd.DataFrame, noise: pd.DataFrame) -> float:
    return late_rise(kmnist) / late_rise(noise)


def delay(alignment: pd.DataFrame) -> float:
    """Iterations that the difficult alignment takes to get halfway up, over those of the easy
    one."""
    easy, difficult = curves(alignment)
    return (1 + crossing(difficult, 0.5)) / (1 + crossing(easy, 0.5))


def start(alignment: pd.DataFrame) -> float:
    """The iteration at which the easy alignment has made a tenth of its rise."""
    return crossing(curves(alignment)[0], 0.1)


def steepness(alignment: pd.DataFrame) -> float:
    """CKA per decade of iterations from a tenth to half of the easy rise: the figure's slope."""
    easy = curves(alignment)[0]
    return 0.4 * float(easy.max() - easy.iloc[0]) / float(np.log10(duration(alignment)))


def duration(alignment: pd.DataFrame) -> float:
    """Iterations from a tenth to half of the rise of the easy alignment, as a factor: its length
    on the figure's axis."""
    easy = curves(alignment)[0]
    return (1 + crossing(easy, 0.5)) / (1 + crossing(easy, 0.1))


def iterations_above_half(alignment: pd.DataFrame) -> float:
    """The number of iterations with easy over difficult alignment at least half of its highest.
    Probes are log-spaced: the few last ones decide."""
    return _above_half(alignment, lambda steps: steps)


def decades_above_half(alignment: pd.DataFrame) -> float:
    """The decades of iterations with that ratio at least half of its highest: the figure's axis."""
    return _above_half(alignment, np.log10)


def _above_half(alignment: pd.DataFrame, axis: Callable[[np.ndarray], np.ndarray]) -> float:
    easy, difficult = curves(alignment)
    ratio = shown(easy / difficult)
    reach = np.diff(axis(ratio.index.to_numpy(np.float64)), append=np.nan)
    return float(np.nansum(reach[(ratio >= ratio.max() / 2).to_numpy()]))


def highest_easy(alignment: pd.DataFrame) -> float:
    return float(curves(alignment)[0].max())


claim = sharing("fig04-", figure="4", experiments=tuple(PANELS), tables=("alignment",))


def _depth(
    name: str,
    says: str,
    number: str,
    number_of: Number,
    sign: int,
    seen: str = "",
    section: Section = Section.paper,
) -> Claim:
    return Claim(
        id=f"fig13-{name}",
        figure="13",
        says=says,
        paper="with depth" if sign > 0 else "against depth",
        number=f"rank correlation with depth of {number}",
        experiments=(DEPTH,),
        tables=("alignment",),
        statistic=trend(number_of),
        holds=above(0.5) if sign > 0 else below(-0.5),
        threshold="ours: of the six pairs of four depths four or more in order, of each seed; the "
        "order 6, 3, 12, 9 still passes",
        seen=seen,
        section=section,
    )


CLAIMS = (
    claim(
        "easy-higher",
        says="The alignment on easy examples reaches a higher value than on difficult ones",
        paper="higher",
        number="highest easy over highest difficult CKA",
        statistic=by_run(highest_ratio, PANELS),
        holds=above(1.0),
        unit=times,
    ),
    claim(
        "ratio-rises",
        says="The ratio of easy to difficult alignment shows a hierarchy: it rises along training",
        paper="hierarchy",
        number="highest ratio along training over that of the untrained network",
        statistic=by_run(ratio_rise, PANELS),
        holds=above(1.5),
        threshold="ours: by half, as for fig03-train-cka-rises; untrained networks have ratios up "
        "to 1.9",
        seen="this was written",
        unit=times,
    ),
    claim(
        "easy-first",
        says="Easy examples are learned before difficult ones",
        paper="not said",
        number="iterations to half of them right, difficult over easy",
        tables=("evals",),
        statistic=by_run(accuracy_delay, PANELS),
        holds=above(1.0),
        threshold="the sign of the text's word; ours: learned is half of them right",
        section=Section.ours,
        seen="this was written",
        unit=times,
    ),
    claim(
        "easy-faster",
        says="The alignment on easy examples rises faster: halfway up, the difficult one is behind",
        paper="faster",
        number="difficult over easy CKA when the easy one is halfway up",
        statistic=by_run(behind, PANELS),
        holds=below(0.9),
        threshold="ours: by a tenth or more",
    ),
    claim(
        "kmnist-rises",
        says="The alignment on difficult examples from KMNIST rises too",
        paper="rises",
        number="highest difficult CKA over that when the easy one is halfway up",
        experiments=(KMNIST,),
        statistic=by_run(late_rise),
        holds=above(1.25),
        threshold="ours: by a quarter or more",
        unit=times,
    ),
    claim(
        "kmnist-rises-more",
        says="It rises more on examples from KMNIST, which have structure, than on random labels",
        paper="not said",
        number="highest difficult CKA over that when the easy one is halfway up, KMNIST over "
        "random labels",
        statistic=by(both_kinds)(rises_more),
        holds=above(1.0),
        threshold="ours: the sign",
        section=Section.ours,
        seen="this was written",
        unit=times,
        jointly=True,
    ),
    claim(
        "kmnist-later",
        says="The alignment on examples from KMNIST rises later than on the easy ones",
        paper="later",
        number="iterations to get halfway up, difficult over easy",
        experiments=(KMNIST,),
        statistic=by_run(delay),
        holds=above(1.0),
        unit=times,
    ),
    _depth("magnified", "The alignment effect is magnified as depth increases",
           "the highest easy CKA", highest_easy, +1, "this was written"),
    _depth("starts-later", "In deeper networks the alignment starts to rise later",
           "the iteration at a tenth of the rise", start, +1),
    _depth("rises-faster", "In deeper networks the alignment then rises faster",
           "the steepness, CKA per decade of iterations, from a tenth to half of the rise",
           steepness, +1,
           "this reading was added to fig13-rises-shorter, the first one, which fails"),
    _depth("rises-shorter",
           "In deeper networks the alignment then rises faster, read as: for a shorter time",
           "the factor in iterations from a tenth to half of the rise", duration, -1),
    _depth("higher-ratio", "In deeper networks easy exceeds difficult alignment by more",
           "highest easy over highest difficult CKA", highest_ratio, +1),
    _depth("shorter", "In deeper networks easy exceeds difficult alignment for fewer iterations",
           "the iterations in which the ratio is at least half its highest",
           iterations_above_half, -1,
           "this gave way to fig13-shorter-decades, and when it came back beside it"),
    _depth("shorter-decades",
           "In deeper networks easy exceeds difficult alignment for fewer iterations, read as: for "
           "a shorter part of the figure's axis, which is logarithmic",
           "the decades of iterations in which the ratio is at least half its highest",
           decades_above_half, -1,
           "this reading was written; before, iterations were counted, as fig13-shorter does",
           Section.ours),
)  # fmt: skip
