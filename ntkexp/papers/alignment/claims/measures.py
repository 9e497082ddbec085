"""Figure 6: which complexity measures follow the generalisation gap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

import numpy as np
import pandas as pd

from ntkexp.claims.claim import FEWEST, Claim, Section, Statistic, above, below, sharing
from ntkexp.claims.curves import agreement, rank_correlation
from ntkexp.claims.horizon import Horizon
from ntkexp.claims.statistics import Group, by
from ntkexp.results.record import Record

PANELS = {
    "complexity_width": "width",
    "complexity_width_lr001": "width, rate 0.01",
    "complexity_noise": "noise",
    "complexity_channels": "channels",
}
# The paper names no rate, so both stand for its setting.
WIDTHS = ("complexity_width", "complexity_width_lr001")
REST = ("complexity_noise", "complexity_channels")
TWO_LAYERS = (*WIDTHS, "complexity_noise")
OURS = "complexity"
NEYSHABUR = ("neyshabur_core", "neyshabur_bound")
# Our list: the legend of the published figure is lost.
OTHERS = (
    "parameters",
    "l2_norm",
    "distance",
    "frobenius_product",
    "spectral_product",
    "l1_path_norm",
    "l2_path_norm",
    "fisher_rao",
    "inverse_squared_margin",
    "spectral_two_one",
    "spectral_frobenius",
    "frobenius_bound",
    "two_layer_spectral_frobenius",
)
GAP = "gap_error"
AXIS, ERROR = "axis", "standard error of the gap"
FOLLOWS = 0.7
# "All networks are trained until cross-entropy reaches 0.01": those that were not are no evidence.
FITTED_LOSS = 0.01
# "Up to 4 millions parameters"; 28 channels make 3.8 million.
MOST_PARAMETERS = 3.5e6
TABLES = ("measures", "complexity")
ORDER = (
    "ours, for `the shape`: of the pairs of networks 85 % in order, weighted by the difference of "
    "their gaps"
)

# How often the gaps are drawn anew, to see whether their order is one of chance.
DRAWS = 1000

RANKS = "this took the place of Spearman's rank correlation"
SLOW = (
    "a rate of 0.01 came beside 0.05, and means over seeds took the place of each seed, of which "
    "12 of 14 follow"
)

Order = Callable[[pd.Series, pd.Series], float]
Settings = Sequence[pd.DataFrame]


def measured(measures: pd.DataFrame, complexity: pd.DataFrame) -> dict[str, float]:
    """Every measure of a trained network, C of equation (18) among them."""
    last = measures[measures["step"] == measures["step"].max()]
    values = dict(zip(last["measure"], last["value"].astype(float), strict=True))
    return values | {OURS: float(complexity["complexity"].iloc[-1])}


def of_run(record: Record) -> dict[str, float]:
    return measured(record.tables["measures"], record.tables["complexity"])


def sweeps(records: Sequence[Record]) -> dict[str, pd.DataFrame]:
    """For every experiment a row for each network, a column for each measure: means over seeds."""
    rows: dict[str, list[dict[str, float]]] = {name: [] for name in PANELS}
    for record in records:
        rows[record.experiment].append({AXIS: record.axis} | of_run(record))
    by_axis = {name: pd.DataFrame(of).groupby(AXIS) for name, of in rows.items() if of}
    means = {name: of.mean().assign(**{ERROR: of[GAP].sem()}) for name, of in by_axis.items()}
    return {name: table for name, table in means.items() if len(table) >= FEWEST}


# How far those came that have no place in the figure is said elsewhere (docs/reproduction.md).
FITTED = Horizon(
    "a training cross-entropy of 0.01",
    lambda run: run.finished and of_run(run).get("train_loss", float("nan")) <= FITTED_LOSS,
)


def experiments(records: Sequence[Record]) -> Iterator[Group]:
    """(panel, 0, a row for each network)."""
    for experiment, table in sweeps(records).items():
        yield PANELS[experiment], 0, table


def rates(records: Sequence[Record]) -> Iterator[Group]:
    """(panel, 0, its three settings) of each rate that has networks in all of them."""
    tables = sweeps(records)
    for width in WIDTHS:
        names = (width, *REST)
        if tables.keys() >= {*names}:
            yield PANELS[width], 0, [tables[name] for name in names]


by_experiment, by_rate = by(experiments), by(rates)


def follows_gap(table: pd.DataFrame, measure: str, order: Order = agreement) -> float:
    """The agreement of a measure with the gaps, over networks; some are bounds for two layers."""
    return order(table[measure], table[GAP]) if measure in table else float("nan")


def stays(table: pd.DataFrame) -> float:
    """The share of draws in which C follows the gap: each gap is drawn anew with its error, of
    which nothing is known where there is one seed."""
    if table[ERROR].isna().any():
        return float("nan")
    draws = np.random.default_rng(0).normal(table[GAP], table[ERROR], (DRAWS, len(table)))
    return fmean(agreement(table[OURS], drawn) >= FOLLOWS for drawn in draws)


def agreements(measure: str, settings: Settings) -> list[float]:
    """The agreement in every setting that has the measure."""
    return [follows_gap(table, measure) for table in settings if measure in table]


def others_that_follow(settings: Settings) -> float:
    """The number of other measures that follow the gap in every setting."""
    all_orders = [agreements(name, settings) for name in OTHERS]
    return float(sum(bool(orders) and min(orders) >= FOLLOWS for orders in all_orders))


def lead(settings: Settings, over: Callable[[list[float]], float]) -> float:
    """C's agreement with the gap, over the settings, less the highest of the other measures'."""
    others = [agreements(name, settings) for name in (*NEYSHABUR, *OTHERS)]
    return over(agreements(OURS, settings)) - max(over(orders) for orders in others if orders)


def in_large_nets(table: pd.DataFrame) -> float:
    """The agreement of C with the gap of VGG19s of up to 4 million parameters, or nan."""
    large = table["parameters"].max() >= MOST_PARAMETERS
    return agreement(table[OURS], table[GAP]) if large else float("nan")


claim = sharing("fig06-", figure="6", experiments=tuple(PANELS), tables=TABLES, horizon=FITTED)


def _measure(
    name: str,
    says: str,
    panels: Sequence[str],
    seen: str,
    also: tuple[str, Statistic] | None = None,
) -> Claim:
    return claim(
        name.replace("_", "-"),
        says=says,
        paper="follows",
        number="agreement with the order of the gaps, from -1 to 1, of means over seeds",
        experiments=tuple(panels),
        statistic=by_experiment(follows_gap, measure=name),
        holds=above(FOLLOWS),
        threshold=ORDER,
        seen=seen,
        also=also or ("Spearman", by_experiment(follows_gap, measure=name, order=rank_correlation)),
    )


def _neyshabur(name: str, written: str) -> Claim:
    """A bound for two layers: VGG19 has none."""
    says = f"{written} follows the generalisation gap in both settings of two layers"
    return _measure(name, says, TWO_LAYERS, f"{RANKS}, by which it is partly as well; {SLOW}")


CLAIMS = (
    _measure(
        OURS,
        "The paper's complexity C follows the generalisation gap in every setting",
        tuple(PANELS),
        f"{RANKS}, by which it is partly; {SLOW}",
        also=(
            f"share of {DRAWS:,} draws of the gaps, by their errors, with which it follows",
            by_experiment(stays),
        ),
    ),
    _neyshabur(NEYSHABUR[0], "The core of the bound of Neyshabur et al. (2018)"),
    _neyshabur(NEYSHABUR[1], "The bound of Neyshabur et al. (2018)"),
    claim(
        "better",
        says="C correlates better with generalisation than the other measures do",
        paper="better",
        number="agreement with the order of the gaps, of means over seeds, averaged over the "
        f"settings: C's less the highest of {len(NEYSHABUR) + len(OTHERS)} others'",
        statistic=by_rate(lead, over=fmean),
        also=("lowest of the settings", by_rate(lead, over=min)),
        holds=above(0.0),
        threshold="the sign of the text's word; ours: which others, and this for correlation",
        seen=f"this was written; {SLOW}",
    ),
    claim(
        "others",
        says="They are the only ones to reflect the shape of the gap: no other measure follows it "
        "in all three settings",
        paper="not said",
        number=f"how many of {len(OTHERS)} others follow it in all settings",
        statistic=by_rate(others_that_follow),
        holds=below(0),
        threshold=f"the text's `only`; ours: which others; follows: {ORDER}",
        section=Section.ours,
        seen=f"{RANKS}, by which no other follows it and this holds; {SLOW}",
    ),
    claim(
        "four-million",
        says="C follows the gap of VGG19 with up to 4 million parameters",
        paper="follows",
        number="agreement with the order of the gaps, from -1 to 1, of means over seeds",
        experiments=("complexity_channels",),
        statistic=by(lambda runs: (("", 0, table) for table in sweeps(runs).values()))(
            in_large_nets
        ),
        holds=above(FOLLOWS),
        threshold=ORDER,
        seen="this was written",
    ),
)
