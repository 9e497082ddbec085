"""Numbers read off estimates of mutual information whose truth is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from ntkexp.claims.curves import rank_correlation
from ntkexp.claims.statistics import Group, by
from ntkexp.results.record import Record

RHO, OBJECTIVE, BATCH, SEED = "study.rho", "study.objective", "study.batch_size", "study.seed"
# By experiment, what tells its runs from those of another in one claim.
DIMENSIONS = {
    "information/gaussians": "d = 1",
    "information/gaussians_20": "d = 20",
    "information/consistency": "d = 1",
    "information/consistency_20": "d = 20",
    "information/bijections": "d = 1",
    "information/bijections_5": "d = 5",
}


def of_seeds(records: Sequence[Record]) -> Iterable[Group]:
    """The rows of the networks of each seed."""
    for record in records:
        for seed, rows in record.tables["information"].groupby(SEED):
            yield DIMENSIONS.get(record.experiment, ""), seed, rows


by_seed = by(of_seeds)


def errors(information: pd.DataFrame, column: str = "value") -> pd.Series:
    """|estimate - I| of every row."""
    distance: pd.Series = (information[column] - information["truth"]).abs()
    return distance


def largest_errors(information: pd.DataFrame) -> dict[str, float]:
    """Of MINE and of nearest neighbours, over all correlations."""
    mine = information[information[OBJECTIVE] == "mine"]
    return {"MINE": errors(mine).max(), "nearest neighbours": errors(mine, "ksg").max()}


def shares_of_neighbours(information: pd.DataFrame, hopeless: float = 0.9) -> dict[str, float]:
    """By correlation, the error of MINE over half of that of nearest neighbours, or over all of it
    where no estimator comes near."""
    mine = information[information[OBJECTIVE] == "mine"].set_index(RHO)
    ratios = errors(mine) / errors(mine, "ksg")
    return {f"ρ = {rho:g}": ratios[rho] / (1 if rho == hopeless else 0.5) for rho in ratios.index}


def tighter(information: pd.DataFrame, relative: bool = False) -> float:
    """MINE less MINE-f, each by its own bound, as a mean over correlations; or that over I."""
    values = information.pivot(index=RHO, columns=OBJECTIVE, values="value")
    more = values["mine"] - values["mine_f"]
    truth = information.groupby(RHO)["truth"].first()
    return float((more / truth)[truth > 0].mean() if relative else more.mean())


def by_correction(information: pd.DataFrame) -> pd.DataFrame:
    """(rho, batch, seed): the error with the moving average, `mine`, and without, `naive`."""
    rows = information.assign(error=errors(information))
    table: pd.DataFrame = rows.pivot(
        index=[RHO, BATCH, SEED], columns=OBJECTIVE, values="error"
    )  # fmt: skip
    return table


def seeds_corrected(information: pd.DataFrame) -> dict[str, float]:
    """By correlation and batch, the share of seeds whose error is lower with the average."""
    table = by_correction(information)
    return _by_cell((table["mine"] < table["naive"]).groupby([RHO, BATCH]).mean())


def corrected_ratios(information: pd.DataFrame) -> dict[str, float]:
    """By the same, the mean error with the average over that without."""
    means = by_correction(information).groupby([RHO, BATCH]).mean()
    return _by_cell(means["mine"] / means["naive"])


def _by_cell(values: pd.Series) -> dict[str, float]:
    cells = values.reset_index().itertuples(index=False)
    return {f"ρ = {rho:g}, batch {batch}": value for rho, batch, value in cells}


def equitable(information: pd.DataFrame) -> dict[str, float]:
    """By function, the largest error over noises, over .05 + .1 I."""
    allowed = 0.05 + 0.1 * information["truth"]
    shares = (errors(information) / allowed).groupby(information["study.function"]).max()
    return {str(name): share for name, share in shares.items()}


def from_normal(information: pd.DataFrame) -> dict[str, float]:
    """By margins, how far the estimates of MINE and MINE-f are from those with normal margins."""
    values = information.pivot(index="study.margins", columns=OBJECTIVE, values="value")
    distance = (values - values.loc["normal"]).abs().max(axis=1)
    return {str(name): value for name, value in distance.items() if name != "normal"}


def overfitting(information: pd.DataFrame, value: str, train: str) -> float:
    """Spearman's correlation of n and how far the bounds on training pairs and on fresh ones are
    apart."""
    apart = (information[train] - information[value]).abs()
    return rank_correlation(information["study.samples"], apart)


def overfitted(information: pd.DataFrame, value: str, train: str) -> dict[str, float]:
    """By n, the bound on training pairs less that on fresh ones."""
    more = (information[train] - information[value]).groupby(information["study.samples"]).mean()
    return {f"n = {n:,}": nats for n, nats in more.items()}


def at_most_samples(information: pd.DataFrame) -> dict[str, float]:
    """Of the largest n, the errors of both bounds at the end over .05 + .05 I."""
    most = information[information["study.samples"] == information["study.samples"].max()]
    allowed = 0.05 + 0.05 * most["truth"]
    columns = {"training pairs": "end_train", "fresh pairs": "end_value"}
    return {
        words: (errors(most, column) / allowed).max() for words, column in columns.items()
    }  # fmt: skip


def hits(information_looks: pd.DataFrame, nats: float = 0.79) -> pd.Series:
    """(given, frequency, seed): the first look whose held-out bound is half of 1.577 nats; the last
    step where none is."""
    keys = ["study.given", "study.frequency", SEED]
    last = information_looks.groupby(keys)["step"].max()
    there = information_looks[information_looks["held_out"] >= nats]
    first: pd.Series = there.groupby(keys)["step"].min().reindex(last.index).fillna(last)
    return first


def order_of_hits(information_looks: pd.DataFrame) -> dict[int, float]:
    """By seed, Spearman's correlation of the frequency and the step at which it is found."""
    by_seed = hits(information_looks).loc[False].unstack(SEED)
    return {int(str(seed)): rank_correlation(one.index, one) for seed, one in by_seed.items()}


def spread_of_given(information_looks: pd.DataFrame) -> dict[int, float]:
    """By seed, the latest of these steps over the first, of networks that are given the waves;
    infinite where one never comes there."""
    found = hits(information_looks).loc[True]
    found = found.where(found < information_looks["step"].max(), np.inf).groupby(level=1)
    return dict(found.max() / found.min())


def order_of_gradients(
    information_looks: pd.DataFrame, information_start: pd.DataFrame
) -> dict[int, float]:
    """By seed, Spearman's correlation of the gradient's square at the start and that step."""
    found = hits(information_looks).loc[False]
    squares = information_start.set_index(["study.given", "study.frequency", SEED])["square"]
    both = pd.DataFrame({"hit": found, "square": squares.loc[False]})
    return {
        int(str(seed)): rank_correlation(one["square"], one["hit"])
        for seed, one in both.groupby(level=1)
    }


def share_found(information: pd.DataFrame) -> dict[int, float]:
    """By seed, the estimate over the truth."""
    shares = information.set_index(SEED)
    return dict(shares["value"] / shares["truth"])
