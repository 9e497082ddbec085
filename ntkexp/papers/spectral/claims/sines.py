"""Figures 3.1 and 3.3: sums of sines on the line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from ntkexp.claims.claim import (
    Case,
    Claim,
    Section,
    Statistic,
    above,
    below,
    each_run,
    sharing,
    times,
)
from ntkexp.papers.spectral.numbers import by_frequency, gone, growth, hits, middle_delta
from ntkexp.results.record import Record

SETTINGS = {"spectral/equal": "equal", "spectral/increasing": "increasing"}
# By 500 the control has fitted its sine.
CONTROL, CONTROL_FITTED, CONTROL_END = "spectral/one_sine", 500, 20_000
EARLY = 500


def order(record: Record) -> float:
    return by_frequency(hits(record.tables["fourier"]).mean())


def lowest_over_highest(record: Record) -> float:
    """The mean first step of the lowest frequency over that of the highest."""
    means = hits(record.tables["fourier"]).mean()
    return float(means.iloc[0] / means.iloc[-1])


def growth_beside_control(start: int) -> Statistic:
    """The growth of each setting that has runs, over that of a control of its scale."""

    def cases(records: Sequence[Record]) -> Iterator[Case]:
        growths = [
            (run, growth(run.tables["spectral_norms"], start, CONTROL_END)) for run in records
        ]
        for record, value in growths:
            for control, of_control in growths if record.experiment != CONTROL else ():
                if control.experiment == CONTROL and control.scale == record.scale:
                    yield Case(SETTINGS[record.experiment], record.seed, value / of_control)

    return cases


def early_share(column: str) -> Statistic:
    """By network: at the last look before the second lowest frequency is reached, a column of
    `linear_pieces` over its value at the end."""

    def cases(records: Sequence[Record]) -> Iterator[Case]:
        for record in records:
            second = hits(record.tables["fourier"]).iloc[:, 1]
            for seed, rows in record.tables["linear_pieces"].groupby("seed"):
                values = rows.set_index("step")[column].sort_index()
                then = values[values.index < second[seed]].iloc[-1]
                yield Case("", int(str(seed)), float(then / values.iloc[-1]))

    return cases


def at_middle_delta(column: str, value: Callable[[pd.Series], float]) -> Statistic:
    def number(record: Record) -> float:
        rows = middle_delta(record.tables["perturbed_spectrum"])
        return value(rows.groupby("k")[column].mean())

    return each_run(number)


first = sharing(
    "spectral-fig31-",
    figure="3.1",
    paper="first",
    number="Spearman's correlation of k with the first step at which |f̃_k| is 0.9 of the "
    "target's (the last step where it never is), mean over networks",
    tables=("fourier",),
    statistic=each_run(order),
    holds=above(0.8),
    threshold="ours: above 0 cannot fail in practice",
    also=("first step of the lowest over that of the highest", each_run(lowest_over_highest)),
)
pieces = sharing(
    "spectral-figa1-",
    figure="A.1",
    experiments=("spectral/equal",),
    tables=("linear_pieces", "fourier"),
    holds=below(0.5),
    threshold="ours: at most half",
    seen="this was written: all values at all looks",
    unit=times,
)

CLAIMS = (
    first(
        "low-first",
        says="Lower frequencies are regressed first",
        experiments=("spectral/equal",),
        seen="this was written: in a trial one network had 0.97; and when increasing amplitudes "
        "became a statement of their own",
    ),
    first(
        "amplitudes",
        says="Lower frequencies are regressed first where amplitudes rise from 0.1 to 1, too",
        experiments=("spectral/increasing",),
        seen="this was written: in a trial one network had 0.97",
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
        statistic=growth_beside_control(0),
        holds=above(2.0),
        threshold="ours: at least twice as much; without the control nothing can fail",
        seen="it came to be judged without runs of increasing amplitudes, before which it had no "
        "verdict, and when the number beside it was chosen",
        unit=times,
        also=(
            "from step 500, where the control has its sine",
            growth_beside_control(CONTROL_FITTED),
        ),
    ),
    Claim(
        id="spectral-fig31-rates",
        figure="3.1",
        says="The residual changes the more slowly the higher the frequency",
        paper="decays with increasing frequency",
        number="Spearman's correlation of k with the share of |f̃_k - λ̃_k| that is gone after 500 "
        "steps, means over networks",
        experiments=("spectral/equal",),
        tables=("fourier",),
        statistic=each_run(lambda run: by_frequency(gone(run.tables["fourier"], EARLY))),
        holds=below(-0.8),
        threshold="ours, as for the order of frequencies",
        seen="this was written: after 500 steps as after 300 it holds, after 100 it does not",
        also=("after 100", each_run(lambda run: by_frequency(gone(run.tables["fourier"], 100)))),
    ),
    pieces(
        "slope-early",
        says="The largest slope L_f can only increase gradually, so high frequencies are late",
        paper="only increase gradually",
        number="L_f over that at the end, at the last look before the second lowest frequency "
        "reaches 0.9",
        statistic=early_share("lipschitz"),
    ),
    pieces(
        "regions-early",
        says="Most linear pieces come while higher frequencies are fitted",
        paper="not said",
        number="the number of pieces N_f over that at the end, at the same look",
        statistic=early_share("regions"),
        section=Section.ours,
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
