"""Equation (19), section 4 and Theorem 2, on the networks of Figure 1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from ntkexp.claims.claim import (
    Case,
    Claim,
    Section,
    Statistic,
    above,
    below,
    between,
    percent,
    times,
)
from ntkexp.claims.horizon import OWN_END
from ntkexp.papers.adaptive.cases import (
    LINEAR,
    SIGN,
    TASK,
    at_layer,
    cosine,
    of_tasks,
)
from ntkexp.results.record import Record

NETS = ("adaptive/label_kernel",)
HIDDEN, LAST = ("hidden1", "hidden2"), "output"


def hidden_prefer_residual(records: Sequence[Record]) -> Iterable[Case]:
    """Of each hidden layer: its correlation with the residual less that with y, sign task."""
    for record in records:
        table = record.tables["adapted_layers"]
        chosen = table[(table[TASK] == SIGN) & table["layer"].isin(HIDDEN)]
        values = chosen["with_residual"].abs() - chosen["with_linear"].abs()
        for layer, seed, value in zip(chosen["layer"], chosen["seed"], values, strict=True):
            yield Case(str(layer), int(seed), float(value))


def ratio(rows: pd.DataFrame) -> float:
    """Norm of the final kernel over that of the adapted one."""
    chosen = rows[(rows["first"] == "final") & (rows["second"] == "average")]
    return float(chosen["ratio"].iloc[0])


def least_shared(rows: pd.DataFrame) -> float:
    """The mean cosine of the principal angles, at the point of the segment where it is least."""
    return float(rows.groupby("t")["cosine"].mean().min())


def premise(kernel: str) -> Statistic:
    def value(rows: pd.DataFrame) -> float:
        row = rows[rows["kernel"] == kernel].iloc[0]
        return float(row["least"] / row["distance"])

    return of_tasks("adapted_premise", value, (LINEAR, SIGN))


def closer(records: Sequence[Record]) -> Iterable[Case]:
    """Cosine of the adapted kernel with the relaxed model's less that with the initial one."""
    for record in records:
        relaxed = record.tables["relaxed_kernels"]
        found = {
            (str(task), int(str(seed))): float(rows["cosine"].iloc[0])
            for (task, seed), rows in relaxed[relaxed["other"] == "average"].groupby([TASK, "seed"])
        }
        for (task, seed), rows in record.tables["adapted_cosines"].groupby([TASK, "seed"]):
            one = str(task), int(str(seed))
            yield Case(*one, found[one] - cosine("average", "initial")(rows))


def rank_ratio(layer: str) -> Statistic:
    """Effective rank of the network's change of a layer over that of the min-norm solution's."""

    def value(rows: pd.DataFrame) -> float:
        ranks = {}
        for kind, frame in rows[rows["layer"] == layer].groupby("of"):
            s = frame["value"].to_numpy()
            ranks[str(kind)] = float(s.sum() ** 2 / (s**2).sum())
        return ranks["network"] / ranks["min_norm"]

    return of_tasks("relaxed_singular_values", value, (LINEAR, SIGN))


def entries_ratio(kind: str) -> Statistic:
    """Entries that matter in the change of a layer over those of the min-norm solution; of the
    three layers the largest."""

    def value(rows: pd.DataFrame) -> float:
        by_layer = rows.pivot(index="layer", columns="of", values="entries")
        return float((by_layer[kind] / by_layer["min_norm"]).max())

    return of_tasks("relaxed_entries", value, (LINEAR, SIGN))


CLAIMS = (
    Claim(
        id="adaptive-eq19-last-layer",
        figure=None,
        says="On the linear task only the final layer should contribute to the change of the "
        "kernel (19)",
        paper="only",
        number="the last layer's share of the norms of the layers' kernel changes",
        experiments=NETS,
        tables=("adapted_layers",),
        statistic=of_tasks("adapted_layers", at_layer("share", LAST), (LINEAR,)),
        holds=above(0.5),
        threshold="ours, the least that it can mean: most of it",
        horizon=OWN_END,
        unit=percent,
        also=(
            "the first layer's",
            of_tasks("adapted_layers", at_layer("share", "hidden1"), (LINEAR,)),
        ),
    ),
    Claim(
        id="adaptive-eq19-last-proportional",
        figure=None,
        says="On the sign task the final layer's contribution to the prediction should be "
        "proportional to y",
        paper="proportional",
        number="correlation of what the last layer adds with y",
        experiments=NETS,
        tables=("adapted_layers",),
        statistic=of_tasks("adapted_layers", at_layer("with_linear", LAST), (SIGN,)),
        holds=above(0.9),
        threshold="ours, for `proportional`: 0.9",
        horizon=OWN_END,
    ),
    Claim(
        id="adaptive-eq19-rest-residual",
        figure=None,
        says="The remainder of the weights only fit the residual sign(y) - αy",
        paper="only",
        number="correlation of what a hidden layer adds with the residual less that with y",
        experiments=NETS,
        tables=("adapted_layers",),
        statistic=hidden_prefer_residual,
        holds=above(0.0),
        threshold="ours, the least that it can mean: more with the residual than with y",
        horizon=OWN_END,
    ),
    Claim(
        id="adaptive-s4-final-larger",
        figure=None,
        says="The final tangent features are larger than the average ones (section 4)",
        paper="larger",
        number="norm of the final kernel over that of the adapted one",
        experiments=NETS,
        tables=("adapted_cosines",),
        statistic=of_tasks("adapted_cosines", ratio, (LINEAR, SIGN)),
        holds=above(1.0),
        threshold="the text's word",
        horizon=OWN_END,
        unit=times,
    ),
    Claim(
        id="adaptive-s4-rescaled",
        figure=None,
        says="The final feature kernel closely resembles a re-scaled version of the average one",
        paper="closely",
        number="cosine of the two",
        experiments=NETS,
        tables=("adapted_cosines",),
        statistic=of_tasks("adapted_cosines", cosine("final", "average"), (LINEAR, SIGN)),
        holds=above(0.95),
        threshold="ours, for `closely`: 0.95",
        horizon=OWN_END,
    ),
    Claim(
        id="adaptive-s4-same-subspace",
        figure=None,
        says="All M along the path have the same principal subspace, with other eigenvalues",
        paper="the same",
        number="mean cosine of 5 principal angles of K_t - K0 with K - K0, least of ten points",
        experiments=NETS,
        tables=("adapted_angles",),
        statistic=of_tasks("adapted_angles", least_shared, (LINEAR, SIGN)),
        holds=above(0.9),
        threshold="ours, for `the same`: 0.9",
        horizon=OWN_END,
    ),
    Claim(
        id="adaptive-eq3-premise",
        figure="ours",
        says="Ours: the network is the least solution in its own average features, as (3) supposes",
        paper="supposed",
        number="shortest change of weights squared over the network's own, in the adapted kernel",
        experiments=NETS,
        tables=("adapted_premise",),
        statistic=premise("average"),
        holds=between(0.9, 1.1),
        threshold="ours: to a tenth",
        horizon=OWN_END,
        also=("in the initial kernel", premise("initial")),
        section=Section.ours,
    ),
    Claim(
        id="adaptive-thm2-kernel",
        figure=None,
        says="The theoretical adaptive feature model reflects real networks",
        paper="reflects",
        number="cosine of the adapted kernel with the relaxed model's, less that with the initial",
        experiments=NETS,
        tables=("adapted_cosines", "relaxed_kernels"),
        statistic=closer,
        holds=above(0.0),
        threshold="ours, the least that it can mean: more than the initial kernel does",
        horizon=OWN_END,
    ),
    *(
        Claim(
            id=f"adaptive-thm2-low-rank-{layer}",
            figure=None,
            says=f"Learning is group approximately low rank: the change of {layer} is of lower "
            "rank than that of the tangent model",
            paper="low rank",
            number="effective rank of the network's change over that of the least-norm solution",
            experiments=NETS,
            tables=("relaxed_singular_values",),
            statistic=rank_ratio(layer),
            holds=below(1.0),
            threshold="the sign of the text's word",
            horizon=OWN_END,
            unit=times,
        )
        for layer in HIDDEN
    ),
    Claim(
        id="adaptive-a1-sparse",
        figure=None,
        says="A diagonal M, a scale for every parameter, makes changes of weights sparser",
        paper="sparsity",
        number="entries that matter over those of the least-norm solution, of three layers the "
        "largest ratio",
        experiments=NETS,
        tables=("relaxed_entries",),
        statistic=entries_ratio("diagonal"),
        holds=below(1.0),
        threshold="the sign of the text's word",
        horizon=OWN_END,
        unit=times,
        also=("of the network itself", entries_ratio("network")),
    ),
)
