"""Theorems 1 and 2 and appendix A.1, solved for networks: numbers read off the tables of a run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pandas as pd

from ntkexp.claims.statistics import Group, Groups
from ntkexp.papers.adaptive.cases import LAST, TASK, cosine
from ntkexp.results.record import Record
from ntkexp.theory.adaptive.kernels import correlation, effective_rank, sum_cosine
from ntkexp.theory.adaptive.penalties import Penalty, Power

# The paper leaves omega open: these are ours.
OMEGA = Power(2)
OMEGAS = {
    "|v - 1|^½": Power(0.5),
    "|v - 1|": Power(1),
    "(v - 1)²": OMEGA,
    "(v - 1)⁴": Power(4),
}


def premise(adapted_premise: pd.DataFrame, kernel: str) -> float:
    """r^T K^+ r: the squared length of the shortest change of weights that gives r = f - f_0."""
    return float(adapted_premise.loc[adapted_premise["kernel"] == kernel, "least"].iloc[0])


def of_its_own(adapted_premise: pd.DataFrame, kernel: str) -> float:
    """The shortest change of weights, squared, over that of the network."""
    return premise(adapted_premise, kernel) / float(adapted_premise["distance"].iloc[0])


def least_penalty(relaxed_solution: pd.DataFrame) -> float:
    return float(relaxed_solution["least"].iloc[0])


def change(adapted_sizes: pd.DataFrame) -> float:
    """|K - K_0|_F."""
    of_change = adapted_sizes[adapted_sizes["kernel"] == "change"]
    return float(of_change.loc[of_change["layer"] == "total", "norm"].iloc[0])


def last_share(relaxed_singular_values: pd.DataFrame, kind: str) -> float:
    """The last layer's share of sum_l |B_l|^2: `relaxed` is the solution of (16), `network` the
    change of its own weights."""
    of_kind = relaxed_singular_values[relaxed_singular_values["of"] == kind]
    squares = (of_kind["value"] ** 2).groupby(of_kind["layer"]).sum()
    return float(squares[LAST] / squares.sum())


def label_part(
    adapted_cosines: pd.DataFrame, adapted_premise: pd.DataFrame, omega: Penalty, weight: float
) -> float:
    """c in K / |K_0| = K_0 / |K_0| + c K_label / |K_label| of (9), where Omega weighs `weight`
    beside |theta - theta_0|^2."""
    square = premise(adapted_premise, "initial")
    initial = adapted_cosines[adapted_cosines["first"] == "initial"]
    ratio = float(initial.loc[initial["second"] == "residual", "ratio"].iloc[0])
    s = float(omega.minimiser(math.sqrt(square / weight)))
    return (s**2 - 1) / square / ratio


def closer_by_theorem_1(
    adapted_cosines: pd.DataFrame, adapted_premise: pd.DataFrame, weight: float = 1.0
) -> float:
    """Cosine of the adapted kernel with K_0 + (s^2 - 1) |beta|^-2 K_label less that with K_0."""
    part = label_part(adapted_cosines, adapted_premise, OMEGA, weight)
    with_initial = cosine(adapted_cosines, "average", "initial")
    with_label = cosine(adapted_cosines, "average", "residual")
    between = cosine(adapted_cosines, "initial", "residual")
    return sum_cosine(with_initial, with_label, between, part) - with_initial


def label_cosine_by_theorem_1(
    adapted_cosines: pd.DataFrame, adapted_premise: pd.DataFrame, omega: Penalty
) -> float:
    """Cosine of the kernel (9) with K_label."""
    part = label_part(adapted_cosines, adapted_premise, omega, 1.0)
    between = cosine(adapted_cosines, "initial", "residual")
    return sum_cosine(between, 1.0, between, part)


def networks_of(*tasks: str) -> Groups:
    """(panel, seed, |beta|^2 and the cosine of adapted and label kernel) of all networks."""

    def groups(records: Sequence[Record]) -> Iterator[Group]:
        squares, cosines = [], []
        for record in records:
            premises = dict(iter(record.tables["adapted_premise"].groupby([TASK, "seed"])))
            for net, rows in record.tables["adapted_cosines"].groupby([TASK, "seed"]):
                if net[0] in tasks:
                    squares.append(premise(premises[net], "initial"))
                    cosines.append(cosine(rows, "average", "residual"))
        if squares:
            yield "" if len(tasks) > 1 else tasks[0], 0, squares, cosines

    return groups


def strength(squares: list[float], cosines: list[float]) -> float:
    return correlation(squares, cosines)


def with_its_label_kernel(relaxed_kernels: pd.DataFrame) -> float:
    return float(relaxed_kernels.loc[relaxed_kernels["other"] == "residual", "cosine"].iloc[0])


def closer_by_theorem_2(relaxed_kernels: pd.DataFrame, adapted_cosines: pd.DataFrame) -> float:
    """Cosine of the adapted kernel with the relaxed model's less that with the initial one."""
    relaxed = relaxed_kernels.loc[relaxed_kernels["other"] == "average", "cosine"].iloc[0]
    return float(relaxed) - cosine(adapted_cosines, "average", "initial")


def rank_ratio(relaxed_singular_values: pd.DataFrame, layer: str) -> float:
    """Effective rank of the network's change of a layer over that of the min-norm solution's."""
    network, least = (
        effective_rank(singular_values(relaxed_singular_values, kind, layer).to_numpy())
        for kind in ("network", "min_norm")
    )
    return network / least


def full_rank_ratio(relaxed_singular_values: pd.DataFrame, layer: str) -> float:
    """Effective rank of the network's change of a layer over the number of its values."""
    values = singular_values(relaxed_singular_values, "network", layer)
    return effective_rank(values.to_numpy()) / len(values)


def singular_values(table: pd.DataFrame, kind: str, layer: str) -> pd.Series:
    return table[(table["of"] == kind) & (table["layer"] == layer)]["value"]


def entries_ratio(relaxed_entries: pd.DataFrame, kind: str) -> float:
    """Entries that matter in the change of a layer over those of the min-norm solution; of the
    three layers the largest."""
    by_layer = relaxed_entries.pivot(index="layer", columns="of", values="entries")
    return float((by_layer[kind] / by_layer["min_norm"]).max())
