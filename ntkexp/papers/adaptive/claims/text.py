"""Equation (19) and section 4, on the networks of Figure 1."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from ntkexp.claims.claim import Case, Section, above, percent, times
from ntkexp.papers.adaptive.cases import (
    HIDDEN,
    LAST,
    LINEAR,
    SIGN,
    TASK,
    at_layer,
    cosine,
    of_networks,
    of_tasks,
)
from ntkexp.results.record import Record
from ntkexp.theory.adaptive.kernels import correlation, fifth_means
from ntkexp.theory.float64 import Array, array

CORRELATIONS = {"y": "with_linear", "residual": "with_residual", "targets": "with_targets"}


def column(rows: pd.DataFrame, name: str) -> Array:
    return array(rows[name].to_numpy(dtype=np.float64))


def task_residual(rows: pd.DataFrame) -> Array:
    """sign(y) - alpha y, alpha by least squares."""
    y, target = column(rows, "linear"), column(rows, "target")
    return array(target - (target @ y) / (y @ y) * y)


def residual_near_zero(rows: pd.DataFrame) -> float:
    """The residual's mean size over the fifth nearest to y = 0, over that of the farthest."""
    near, far = fifth_means(np.abs(task_residual(rows)), np.abs(column(rows, "linear")))
    return near / far


def rest_prefers_residual(records: Sequence[Record]) -> Iterable[Case]:
    """Correlation of what the hidden layers add together with the residual less that with y."""
    for record in records:
        examples, layers = record.tables["adapted_examples"], record.tables["adapted_layers"]
        for seed, rows in examples[examples[TASK] == SIGN].groupby("seed"):
            of_network = layers[(layers[TASK] == SIGN) & (layers["seed"] == seed)]
            yield Case("", int(str(seed)), of_the_rest(rows, of_network))


def of_the_rest(examples: pd.DataFrame, layers: pd.DataFrame) -> float:
    """Together the hidden layers add r = f - f_0 less what the last layer adds.

    Of that the norm is kept and not the mean, so norm / sqrt(n) is the most that its deviation can
    be. A smaller one lowers the difference of the covariances, so a number below 0 stays below.
    """
    last = {name: at_layer(name, LAST)(layers) for name in ("moved", *CORRELATIONS.values())}
    y, r = column(examples, "linear"), column(examples, "output") - column(examples, "start")
    deviation = last["moved"] / math.sqrt(len(r))
    of_sum = r.var() + deviation**2 - 2 * deviation * last["with_targets"] * r.std()
    along = {
        name: correlation(r, values) * r.std() - deviation * last[CORRELATIONS[name]]
        for name, values in {"y": y, "residual": task_residual(examples)}.items()
    }
    return float((abs(along["residual"]) - abs(along["y"])) / math.sqrt(of_sum))


def hidden_prefer_residual(records: Sequence[Record]) -> Iterable[Case]:
    """Each hidden layer's correlation with the residual less that with y."""
    for record in records:
        table = record.tables["adapted_layers"]
        chosen = table[(table[TASK] == SIGN) & table["layer"].isin(HIDDEN)]
        values = chosen["with_residual"].abs() - chosen["with_linear"].abs()
        for layer, seed, value in zip(chosen["layer"], chosen["seed"], values, strict=True):
            yield Case(str(layer), int(seed), float(value))


def rather_y_than_sign(rows: pd.DataFrame) -> float:
    return at_layer("with_linear", LAST)(rows) - at_layer("with_targets", LAST)(rows)


def ratio(rows: pd.DataFrame) -> float:
    """Norm of the final kernel over that of the adapted one."""
    chosen = rows[(rows["first"] == "final") & (rows["second"] == "average")]
    return float(chosen["ratio"].iloc[0])


def least_shared(rows: pd.DataFrame) -> float:
    """The mean cosine of the principal angles, at the point of the segment where it is least."""
    return float(rows.groupby("t")["cosine"].mean().min())


CLAIMS = (
    of_networks(
        "eq19-last-layer",
        says="On the linear task only the final layer should contribute to the change of the "
        "kernel (19)",
        paper="only",
        number="the last layer's share of the norms of the layers' kernel changes",
        tables=("adapted_layers",),
        statistic=of_tasks("adapted_layers", at_layer("share", LAST), (LINEAR,)),
        holds=above(0.5),
        threshold="ours, the least that it can mean: most of it",
        seen="this was written: pilots of two seeds had 4 and 6 %",
        unit=percent,
        also=(
            "the first layer's",
            of_tasks("adapted_layers", at_layer("share", "hidden1"), (LINEAR,)),
        ),
    ),
    of_networks(
        "eq19-last-proportional",
        says="On the sign task the final layer's contribution to the prediction should be "
        "proportional to y",
        paper="proportional",
        number="correlation of what the last layer adds with y, less that with sign(y)",
        tables=("adapted_layers",),
        statistic=of_tasks("adapted_layers", rather_y_than_sign, (SIGN,)),
        holds=above(0.0),
        threshold="ours, the least that it can mean: more with y than with sign(y), two targets of "
        "a correlation of 0.90 with one another",
        seen="≥ 0.9 of the correlation with y alone, by which it holds, became this",
        also=("with y", of_tasks("adapted_layers", at_layer("with_linear", LAST), (SIGN,))),
    ),
    of_networks(
        "s32-residual-near-zero",
        says="The residual sign(y) - αy is largest for points with y near 0",
        paper="largest",
        number="its mean size over the fifth nearest to y = 0 over that over the farthest",
        tables=("adapted_examples",),
        statistic=of_tasks("adapted_examples", residual_near_zero, (SIGN,)),
        holds=above(1.0),
        seen="this was written and, once a statement of the paper, became an identity",
        unit=times,
        section=Section.identity,
    ),
    of_networks(
        "eq19-rest-residual",
        says="The remainder of the weights only fit the residual sign(y) - αy",
        paper="only",
        number="correlation of what the hidden layers add together with the residual less that "
        "with y",
        tables=("adapted_layers", "adapted_examples"),
        statistic=rest_prefers_residual,
        holds=above(0.0),
        threshold="ours, the least that it can mean: more with the residual than with y",
        seen="the sum of the hidden layers took the place of each of them, by which it is partly",
        also=("each alone", hidden_prefer_residual),
    ),
    of_networks(
        "s4-final-larger",
        says="The final tangent features are larger than the average ones (section 4)",
        paper="larger",
        number="norm of the final kernel over that of the adapted one",
        tables=("adapted_cosines",),
        statistic=of_tasks("adapted_cosines", ratio, (LINEAR, SIGN)),
        holds=above(1.0),
        seen="this was written: pilots had 3.2 to 3.7 ×",
        unit=times,
    ),
    of_networks(
        "s4-rescaled",
        says="The final feature kernel closely resembles a re-scaled version of the average one",
        paper="closely",
        number="cosine of the two",
        tables=("adapted_cosines",),
        statistic=of_tasks("adapted_cosines", cosine("final", "average"), (LINEAR, SIGN)),
        holds=above(0.95),
        threshold="ours, for `closely`: 0.95",
        seen="this was written: pilots had 0.96 to 0.99",
    ),
    of_networks(
        "s4-same-subspace",
        says="All M along the path have the same principal subspace, with other eigenvalues",
        paper="the same",
        number="mean cosine of 5 principal angles of K_t - K0 with K - K0, least of ten points",
        tables=("adapted_angles",),
        statistic=of_tasks("adapted_angles", least_shared, (LINEAR, SIGN)),
        holds=above(0.9),
        threshold="ours, for `the same`: 0.9",
    ),
)
