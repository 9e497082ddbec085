"""Figures 3.1 and 3.3: sums of sines on the line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from ntkexp.claims.claim import Case, Claim, Statistic, above, below, each_run, times
from ntkexp.papers.spectral.numbers import by_frequency, first_hits, growth, middle_delta
from ntkexp.results.record import Record

SETTINGS = {"spectral/equal": "equal", "spectral/increasing": "increasing"}
CONTROL, CONTROL_END = "spectral/one_sine", 20_000


def hits(record: Record) -> float:
    return by_frequency(first_hits(record.tables["fourier"]))


def lowest_over_highest(record: Record) -> float:
    """The mean first step of the lowest frequency over that of the highest."""
    means = first_hits(record.tables["fourier"])
    return float(means.iloc[0] / means.iloc[-1])


def growth_beside_control(records: Sequence[Record]) -> Iterator[Case]:
    """The growth of each setting that has runs, over that of a control of its scale."""
    growths = [(run, growth(run.tables["spectral_norms"], CONTROL_END)) for run in records]
    for record, value in growths:
        for control, of_control in growths if record.experiment != CONTROL else ():
            if control.experiment == CONTROL and control.scale == record.scale:
                yield Case(SETTINGS[record.experiment], record.seed, value / of_control)


def at_middle_delta(column: str, value: Callable[[pd.Series], float]) -> Statistic:
    def number(record: Record) -> float:
        rows = middle_delta(record.tables["perturbed_spectrum"])
        return value(rows.groupby("k")[column].mean())

    return each_run(number)


CLAIMS = (
    Claim(
        id="spectral-fig31-low-first",
        figure="3.1",
        says="Lower frequencies are regressed first, regardless of their amplitudes",
        paper="first",
        number="Spearman's correlation of k with the first step at which |f̃_k| is 0.9 of the "
        "target's (the last step where it never is), mean over networks",
        experiments=tuple(SETTINGS),
        tables=("fourier",),
        statistic=each_run(hits, SETTINGS),
        holds=above(0.8),
        threshold="ours: above 0 cannot fail in practice",
        seen="this was written: in a trial one network had 0.97",
        also=("first step of the lowest over that of the highest", each_run(lowest_over_highest)),
    ),
    Claim(
        id="spectral-fig31-norms-grow",
        figure="3.1",
        says="Spectral norms of the weights increase as higher frequencies are fitted",
        paper="increase",
        number="growth of log ∏|W_k| over 20,000 steps, over that of networks fitting the lowest "
        "sine alone",
        experiments=(*SETTINGS, CONTROL),
        tables=("spectral_norms",),
        statistic=growth_beside_control,
        holds=above(2.0),
        threshold="ours: at least twice as much; without the control nothing can fail",
        unit=times,
    ),
    Claim(
        id="spectral-fig33-robust",
        figure="3.3",
        says="Lower frequencies are more robust to random perturbations of the parameters",
        paper="significantly",
        number="Spearman's correlation of k with |f̃_θ(k)| / |f̃_θ*(k)|, not clipped, at the δ whose "
        "mean ratio is nearest to 0.5",
        experiments=("spectral/robustness",),
        tables=("perturbed_spectrum",),
        statistic=at_middle_delta("magnitude", by_frequency),
        holds=below(-0.8),
        threshold="ours",
        seen="this was written: in a trial the clip of the figure hid that the lowest k moved most",
        also=(
            "the same of |f̃_θ(k) - f̃_θ*(k)| / |f̃_θ*(k)|",
            at_middle_delta("residual", by_frequency),
        ),
    ),
)
