"""Theorems 1 and 2 and appendix A.1, solved for networks: numbers read off the tables of a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import pandas as pd

from ntkexp.claims.claim import Case, Statistic
from ntkexp.papers.adaptive.cases import LAST, LINEAR, SIGN, TASK, cosine, of_tasks
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


def premise(kernel: str) -> Callable[[pd.DataFrame], float]:
    """r^T K^+ r: the squared length of the shortest change of weights that gives r = f - f_0."""

    def value(rows: pd.DataFrame) -> float:
        return float(rows[rows["kernel"] == kernel]["least"].iloc[0])

    return value


def of_its_own(kernel: str) -> Statistic:
    """The shortest change of weights, squared, over that of the network."""

    def value(rows: pd.DataFrame) -> float:
        return premise(kernel)(rows) / float(rows["distance"].iloc[0])

    return of_tasks("adapted_premise", value, (LINEAR, SIGN))


def least_penalty(rows: pd.DataFrame) -> float:
    return float(rows["least"].iloc[0])


def change(rows: pd.DataFrame) -> float:
    """|K - K_0|_F."""
    chosen = rows[(rows["kernel"] == "change") & (rows["layer"] == "total")]
    return float(chosen["norm"].iloc[0])


def last_share(kind: str) -> Statistic:
    """The last layer's share of sum_l |B_l|^2: `relaxed` is the solution of (16), `network` the
    change of its own weights."""

    def value(rows: pd.DataFrame) -> float:
        of_kind = rows[rows["of"] == kind]
        squares = (of_kind["value"] ** 2).groupby(of_kind["layer"]).sum()
        return float(squares[LAST] / squares.sum())

    return of_tasks("relaxed_singular_values", value, (LINEAR,))


def by_network(record: Record, table: str) -> Iterable[tuple[tuple[str, int], pd.DataFrame]]:
    for (task, seed), rows in record.tables[table].groupby([TASK, "seed"]):
        yield (str(task), int(str(seed))), rows


def by_theorem_1(
    record: Record, omega: Penalty, weight: float
) -> Iterable[tuple[tuple[str, int], pd.DataFrame, float]]:
    """The cosines of a network, and c in K / |K_0| = K_0 / |K_0| + c K_label / |K_label| of (9),
    where Omega weighs `weight` beside |theta - theta_0|^2."""
    squares = {net: premise("initial")(rows) for net, rows in by_network(record, "adapted_premise")}
    for net, rows in by_network(record, "adapted_cosines"):
        pair = rows[(rows["first"] == "initial") & (rows["second"] == "residual")].iloc[0]
        s = float(omega.minimiser(math.sqrt(squares[net] / weight)))
        yield net, rows, (s**2 - 1) / squares[net] / float(pair["ratio"])


def closer_by_theorem_1(weight: float = 1.0) -> Statistic:
    """Cosine of the adapted kernel with K_0 + (s^2 - 1) |beta|^-2 K_label less that with K_0."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        for record in records:
            for net, rows, part in by_theorem_1(record, OMEGA, weight):
                with_initial = cosine("average", "initial")(rows)
                with_label = cosine("average", "residual")(rows)
                between = cosine("initial", "residual")(rows)
                yield Case(*net, sum_cosine(with_initial, with_label, between, part) - with_initial)

    return cases


def order_by_theorem_1(weight: float = 1.0) -> Statistic:
    """Cosine of the kernel (9) with K_label, sign task less linear task, one panel an omega."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        for record in records:
            for name, omega in OMEGAS.items():
                found = {}
                for net, rows, part in by_theorem_1(record, omega, weight):
                    between = cosine("initial", "residual")(rows)
                    found[net] = sum_cosine(between, 1.0, between, part)
                for task, seed in found:
                    if task == SIGN:
                        yield Case(name, seed, found[SIGN, seed] - found[LINEAR, seed])

    return cases


def strength(tasks: Sequence[str]) -> Statistic:
    """Correlation over networks of |beta|^2 with the cosine of adapted and label kernel."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        squares = of_tasks("adapted_premise", premise("initial"), tasks)(records)
        cosines = of_tasks("adapted_cosines", cosine("average", "residual"), tasks)(records)
        values = [case.value for case in squares], [case.value for case in cosines]
        if values[0]:
            yield Case("" if len(tasks) > 1 else tasks[0], 0, correlation(*values))

    return cases


def with_its_label_kernel(rows: pd.DataFrame) -> float:
    return float(rows[rows["other"] == "residual"]["cosine"].iloc[0])


def closer_by_theorem_2(records: Sequence[Record]) -> Iterable[Case]:
    """Cosine of the adapted kernel with the relaxed model's less that with the initial one."""
    for record in records:
        relaxed = record.tables["relaxed_kernels"]
        relaxed_cosines = {
            (str(task), int(str(seed))): float(rows["cosine"].iloc[0])
            for (task, seed), rows in relaxed[relaxed["other"] == "average"].groupby([TASK, "seed"])
        }
        for network, rows in by_network(record, "adapted_cosines"):
            yield Case(*network, relaxed_cosines[network] - cosine("average", "initial")(rows))


def rank_ratio(layer: str) -> Statistic:
    """Effective rank of the network's change of a layer over that of the min-norm solution's."""

    def value(rows: pd.DataFrame) -> float:
        return rank_of("network", layer, rows) / rank_of("min_norm", layer, rows)

    return of_tasks("relaxed_singular_values", value, (LINEAR, SIGN))


def full_rank_ratio(layer: str) -> Statistic:
    """Effective rank of the network's change of a layer over the number of its values."""

    def value(rows: pd.DataFrame) -> float:
        values = rows[(rows["of"] == "network") & (rows["layer"] == layer)]
        return rank_of("network", layer, rows) / len(values)

    return of_tasks("relaxed_singular_values", value, (LINEAR, SIGN))


def rank_of(kind: str, layer: str, rows: pd.DataFrame) -> float:
    return effective_rank(rows[(rows["of"] == kind) & (rows["layer"] == layer)]["value"].to_numpy())


def entries_ratio(kind: str) -> Statistic:
    """Entries that matter in the change of a layer over those of the min-norm solution; of the
    three layers the largest."""

    def value(rows: pd.DataFrame) -> float:
        by_layer = rows.pivot(index="layer", columns="of", values="entries")
        return float((by_layer[kind] / by_layer["min_norm"]).max())

    return of_tasks("relaxed_entries", value, (LINEAR, SIGN))
