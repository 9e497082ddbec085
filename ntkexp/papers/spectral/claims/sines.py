"""Figures 3.1 and 3.3: sums of sines on the line."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from ntkexp.claims.claim import SIGN, Claim, Section, above, below, sharing, times
from ntkexp.claims.statistics import beside, by_network, by_run, of_mean, together
from ntkexp.papers.spectral.numbers import (
    REACHED,
    by_frequency,
    gone,
    hits,
    log_product,
    middle_delta,
)

SETTINGS = {"spectral/equal": "equal", "spectral/increasing": "increasing"}
# By 500 the control has fitted its sine.
CONTROL, CONTROL_FITTED, CONTROL_END = "spectral/one_sine", 500, 20_000
EARLY = 500


def order(fourier: pd.DataFrame) -> float:
    return by_frequency(hits(fourier).mean())


def lowest_over_highest(fourier: pd.DataFrame) -> float:
    """The mean first step of the lowest frequency over that of the highest."""
    means = hits(fourier).mean()
    return float(means.iloc[0] / means.iloc[-1])


def norms_by_frequency(spectral_norms: pd.DataFrame, fourier: pd.DataFrame) -> float:
    """The order of k and of the product of all spectral norms at the step where k is fitted."""
    logs = log_product(spectral_norms)
    first = hits(fourier).mean()
    return by_frequency(pd.Series(np.interp(first, logs.index, logs), first.index))


def fitted_at_the_end(fourier: pd.DataFrame) -> float:
    """The least over k of |f~_k| over the target's at the last step, mean over networks."""
    last = fourier[fourier["step"] == fourier["step"].max()]
    return float((last["magnitude"] / last["target"]).groupby(last["k"]).mean().min())


def target_over_network(linear_pieces: pd.DataFrame, fourier: pd.DataFrame) -> float:
    """The root mean square of the target's slope, which its largest is at least, over the largest
    slope of the network before training."""
    start = fourier[fourier["step"] == 0]
    slope = 2 * np.pi * np.sqrt(((start["k"] * start["target"]) ** 2).sum() / 2)
    return float(slope / linear_pieces.set_index("step")["lipschitz"][0])


def growth(spectral_norms: pd.DataFrame, start: int) -> float:
    """The growth of the log of the product of all spectral norms until the end of the control."""
    logs = log_product(spectral_norms)
    return float(logs[CONTROL_END] - logs[start])


def rates(fourier: pd.DataFrame, step: int) -> float:
    return by_frequency(gone(fourier, step))


def early_share(
    linear_pieces: pd.DataFrame, fourier: pd.DataFrame, columns: Mapping[str, str]
) -> dict[str, float]:
    """By words, a column at the last look before a network reaches the second lowest frequency,
    over its value at the end."""
    values = linear_pieces.set_index("step").sort_index()
    early = values[values.index < hits(fourier).iloc[0, 1]]
    shares = early.iloc[-1] / values.iloc[-1]
    return {words: float(shares[column]) for column, words in columns.items()}


def early_growth(
    linear_pieces: pd.DataFrame, fourier: pd.DataFrame, columns: Mapping[str, str]
) -> dict[str, float]:
    """By words, the growth of a column's log until that look, over all of it."""
    logs = linear_pieces.set_index("step").sort_index()[[*columns]].apply(np.log)
    grown = logs - logs.iloc[0]
    early = grown[grown.index < hits(fourier).iloc[0, 1]].iloc[-1] / grown.iloc[-1]
    return {words: float(early[column]) for column, words in columns.items()}


def ends_over_middle(curve: pd.DataFrame, step: int) -> float:
    """How much of the target is left in the outer fifths of the line, over that in its middle
    fifth, as root mean squares."""
    look = curve[curve["step"] == step].sort_values("point")
    left = ((look["output"] - look["target"]) ** 2).to_numpy().reshape(5, -1).mean(1)
    whole = (look["target"] ** 2).to_numpy().reshape(5, -1).mean(1)
    shares = np.sqrt(left / whole)
    return float((shares[0] + shares[-1]) / 2 / shares[2])


def delta_that_leaves_half(perturbed_spectrum: pd.DataFrame) -> dict[str, float]:
    """By k, the length of the perturbation that leaves half of |f~_k|, between two of those run."""
    left = perturbed_spectrum.groupby(["k", "delta"])["magnitude"].mean().unstack("delta")
    logs = np.log(left.columns.to_numpy(dtype=float))
    return {
        f"k = {k}": float(np.exp(np.interp(-0.5, -row, logs)))
        for k, row in left.iterrows()
        if row.min() <= 0.5
    }


def order_at_middle_delta(perturbed_spectrum: pd.DataFrame, column: str) -> float:
    return by_frequency(middle_delta(perturbed_spectrum).groupby("k")[column].mean())


first = sharing(
    "spectral-fig31-",
    figure="3.1",
    paper="first",
    number="Spearman's correlation of k with the first step at which |f̃_k| is 0.9 of the "
    "target's (the last step where it never is), mean over networks",
    tables=("fourier",),
    statistic=by_run(order),
    holds=above(0.8),
    threshold="ours: above 0 cannot fail in practice",
    also=("first step of the lowest over that of the highest", by_run(lowest_over_highest)),
)
pieces = sharing(
    "spectral-figa1-",
    figure="A.1",
    experiments=(*SETTINGS,),
    tables=("linear_pieces", "fourier"),
    holds=below(0.5),
    threshold="ours: at most half",
    unit=times,
)
BOUNDS = {"product": "∏|W_k|", "max_norm": "the bound by |θ|∞"}

LEFT = "share of the target that is left in the outer fifths over that in the middle fifth"
ends = sharing(
    "spectral-fig32-ends-",
    figure="3.2",
    paper="not said",
    tables=("curve",),
    statistic=by_network(ends_over_middle, step=6000),
    threshold="ours",
    unit=times,
    section=Section.ours,
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
        pilot=True,
        seen="this was written: in a trial one network had 0.97",
    ),
    first(
        "end",
        says="In the end all frequencies are fitted",
        paper="not said",
        number="|f̃_k| over the target's at the last step, mean over networks, the least over k",
        experiments=(*SETTINGS,),
        statistic=of_mean(fitted_at_the_end, panels=SETTINGS),
        holds=above(REACHED),
        threshold="ours, as for a frequency that is learned",
        seen="this was written; it was counted as the text's then",
        section=Section.ours,
        also=None,
    ),
    Claim(
        id="spectral-fig31-norms-grow",
        figure="3.1",
        says="Spectral norms of the weights increase as higher frequencies are fitted",
        paper="increase",
        number="Spearman's correlation of k with log ∏|W_k| at the mean first step at which k is "
        "fitted, means over networks",
        experiments=(*SETTINGS,),
        tables=("spectral_norms", "fourier"),
        statistic=of_mean(norms_by_frequency, panels=SETTINGS),
        holds=above(0.0),
        seen="the growth over 20,000 steps, over that of networks fitting the lowest sine alone, "
        "at least twice as much, by which it fails, became a question of ours",
    ),
    Claim(
        id="spectral-fig31-norms-control",
        figure="3.1",
        says="They increase more than in networks that fit the lowest sine alone",
        paper="not said",
        number="growth of log ∏|W_k| over 20,000 steps, over that of networks fitting the lowest "
        "sine alone",
        experiments=(*SETTINGS, CONTROL),
        tables=("spectral_norms",),
        statistic=beside(growth, CONTROL, panels=SETTINGS, start=0),
        holds=above(2.0),
        threshold="ours: at least twice as much",
        seen="it came to be judged without runs of increasing amplitudes, before which it had no "
        "verdict, and when the number beside it was chosen",
        unit=times,
        section=Section.ours,
        also=(
            "from step 500, where the control has its sine",
            beside(growth, CONTROL, panels=SETTINGS, start=CONTROL_FITTED),
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
        statistic=by_run(rates, step=EARLY),
        holds=below(-0.8),
        threshold="ours, as for the order of frequencies",
        seen="this was written: after 500 steps as after 300 it holds, after 100 it does not",
        also=("after 100", by_run(rates, step=100)),
    ),
    pieces(
        "slope-early",
        says="The norm of the parameters, which bounds the largest slope L_f, increases only "
        "gradually, so high frequencies are late",
        paper="only increase gradually",
        number="growth of the log of both bounds of equation (7) until the last look before the "
        "second lowest frequency reaches 0.9, over all of it",
        statistic=by_network(early_growth, panels=SETTINGS, columns=BOUNDS),
        seen="the norms, of which the text speaks, took the place of L_f itself, by which it fails "
        "with equal amplitudes and holds with increasing ones; and when logs took the place of the "
        "bounds, products of seven norms, by which it holds",
        also=(
            "L_f over that at the end",
            by_network(early_share, panels=SETTINGS, columns={"lipschitz": ""}),
        ),
    ),
    pieces(
        "target-steeper",
        says="The target's Lipschitz constant is larger than that of the network before training",
        paper="larger",
        number="the root mean square of the target's slope, which its largest is at least, over "
        "L_f at step 0",
        statistic=by_network(target_over_network, panels=SETTINGS),
        holds=above(1.0),
        threshold=SIGN,
        seen="this was written",
    ),
    pieces(
        "regions-early",
        says="Most linear pieces come while higher frequencies are fitted",
        paper="not said",
        number="the number of pieces N_f over that at the end, at the same look",
        statistic=by_network(early_share, panels=SETTINGS, columns={"regions": ""}),
        section=Section.ours,
        seen="this was written: all values at all looks",
    ),
    ends(
        "first",
        says="The ends of the interval are fitted first, with all frequencies",
        number=f"{LEFT}, at step 6,000",
        experiments=("spectral/equal",),
        holds=below(0.8),
        seen="this was written",
    ),
    ends(
        "control",
        says="On an interval about 0 they are not, so the network's start makes it so",
        number="the same on [-1, 1)",
        experiments=("spectral/symmetric",),
        holds=above(1.0),
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
        statistic=by_run(order_at_middle_delta, column="magnitude"),
        holds=below(-0.8),
        threshold="ours",
        pilot=True,
        seen="this was written: in a trial the clip of the figure hid that the lowest k moved most",
        also=(
            "the same of |f̃_θ(k) - f̃_θ*(k)| / |f̃_θ*(k)|; the δ that leaves half of |f̃_θ(k)|",
            together(
                by_run(order_at_middle_delta, column="residual"), by_run(delta_that_leaves_half)
            ),
        ),
    ),
)
