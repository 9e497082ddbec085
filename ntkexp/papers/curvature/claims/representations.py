"""Figures 3.3 to 3.7: how near representations of the Fisher matrix come to it, in a cell of one
network at one moment of its training. Numbers and thresholds were fixed before the runs,
unless a row says otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist

import numpy as np
import pandas as pd

from ntkexp.claims.claim import Section, above, below, sharing, times
from ntkexp.claims.statistics import Group, Groups, by, by_run
from ntkexp.results.record import Record

NETWORKS = {
    "curvature/representations_resnet18": "ResNet18",
    "curvature/representations_vgg11": "VGG11",
}
OTHERS = ("diagonal", "quasi_diagonal", "kfac")
EXACT_TRACES = ("diagonal", "quasi_diagonal", "ekfac")
CELL = ["network", "step"]
# A mean cosine outside of these tells little: no representation is any use, or all are.
TELLING = (0.1, 0.99)
# Standard errors by which a mean is told from another.
APART = 2
THESIS = "the 5 labels an image of the thesis"


def of_both(table: str, of: str) -> Groups:
    """(labels, seed, the rows of all networks of a seed with these labels)."""

    def groups(records: Sequence[Record]) -> Iterator[Group]:
        for seed in sorted({record.seed for record in records}):
            frames = [
                record.tables[table].assign(network=NETWORKS[record.experiment])
                for record in records
                if record.seed == seed
            ]
            rows = pd.concat(frames)
            yield "", seed, rows[rows["of"] == of]

    return groups


def first_in_solves(solves: pd.DataFrame) -> float:
    """The share of telling cells, of a network, a moment and a damping, in which KFAC's mean cosine
    is the largest."""
    means = solves.pivot_table(index=[*CELL, "damping"], columns="kind", values="cosine")
    best = means.max(axis=1)
    telling = means[best.between(*TELLING)]
    return float((telling["kfac"] == telling.max(axis=1)).mean()) if len(telling) else np.nan


def leads(products: pd.DataFrame, value: str) -> pd.DataFrame:
    """By cell and other kind: how many standard errors EKFAC is better by, of paired directions."""
    found = products.assign(
        cosine=products["cosine"], distance=-(products["form"] - 1).abs()
    ).pivot_table(index=[*CELL, "direction"], columns="kind", values=value)
    gains = found[[*OTHERS]].rsub(found["ekfac"], axis=0).groupby(CELL)
    return gains.mean() / gains.sem()


def cells_ahead(products: pd.DataFrame, value: str) -> dict[str, float]:
    """By other kind, the cells in which EKFAC leads."""
    return dict((leads(products, value) >= APART).sum().astype(float))


def cells_behind(products: pd.DataFrame, value: str) -> dict[str, float]:
    return dict((leads(products, value) <= -APART).sum().astype(float))


def sampling_errors(fisher_traces: pd.DataFrame) -> dict[str, float]:
    """By moment and kind, the distance from the exact trace in standard errors of drawn labels.

    The standard error is that of five traces alone: Student's t, told as the number of a normal
    distribution that is as rare.
    """
    drawn = fisher_traces[fisher_traces["of"] == "mc"]
    errors = (drawn["trace"] - drawn["exact"]).abs() / drawn["sampling"]
    named = drawn["kind"] + ", step " + drawn["step"].astype(str)
    return {
        str(name): as_rare(error)
        for name, kind, error in zip(named, drawn["kind"], errors, strict=True)
        if kind in EXACT_TRACES
    }


def as_rare(t: float) -> float:
    """The normal number beyond which is as much as beyond Student's t of four degrees of freedom.

    >>> round(as_rare(3.53), 2), round(as_rare(6.62), 2)
    (2.25, 3.0)
    """
    of_one = t / math.hypot(2, t)
    beyond = (1 - of_one) ** 2 * (2 + of_one) / 4
    return -NormalDist().inv_cdf(max(beyond, 1e-300))


def trace_errors(fisher_traces: pd.DataFrame) -> dict[str, float]:
    """By moment, KFAC's distance from the exact trace over EKFAC's."""
    drawn = fisher_traces[fisher_traces["of"] == "mc"]
    errors = drawn.assign(error=(drawn["trace"] - drawn["exact"]).abs())
    by_kind = errors.pivot(index="step", columns="kind", values="error")
    return {f"step {step}": float(row["kfac"] / row["ekfac"]) for step, row in by_kind.iterrows()}


def exact_traces(fisher_traces: pd.DataFrame) -> float:
    """The largest relative distance of a trace by all classes that is exact."""
    rows = fisher_traces[fisher_traces["of"] == "exact"]
    rows = rows[rows["kind"].isin(EXACT_TRACES)]
    return float((rows["trace"] / rows["exact"] - 1).abs().max())


def accuracies(class_pair_accuracy: pd.DataFrame) -> pd.Series:
    """By step, the mean over pairs of classes."""
    means: pd.Series = class_pair_accuracy.groupby("step")["accuracy"].mean()
    return means


def accuracy_gained(class_pair_accuracy: pd.DataFrame) -> float:
    means = accuracies(class_pair_accuracy)
    return float(means.iloc[-1] - means.iloc[0])


def last_accuracy(class_pair_accuracy: pd.DataFrame) -> float:
    return float(accuracies(class_pair_accuracy).iloc[-1])


def within_classes(class_pair_kernel: pd.DataFrame) -> dict[str, float]:
    """By class, the mean entry of two of its images, less that of two images of both classes; at
    the end less at the start."""
    table = class_pair_kernel[class_pair_kernel["row"] != class_pair_kernel["column"]]
    second = table[["row", "column"]] > table["row"].max() // 2
    blocks = table.groupby([table["step"], second["row"], second["column"]])["value"]
    means = blocks.mean().unstack("step")
    gains = means.iloc[:, -1] - means.iloc[:, 0]
    return {f"class {k}": float(gains[bool(k), bool(k)] - gains[False, True]) for k in (0, 1)}


claim = sharing("curvature-", experiments=tuple(NETWORKS), threshold="ours")
joint = sharing("curvature-", experiments=tuple(NETWORKS), threshold="ours", jointly=True)


def of_ekfac(figure: str, what: str, value: str) -> tuple[object, ...]:
    """EKFAC leads each other in at least five of eight cells, and trails in at most one."""
    shared = {"figure": figure, "tables": ("fisher_products",)}
    ahead, behind = "leads each other representation", "trails another"
    products = of_both("fisher_products", "mc")
    exact = of_both("fisher_products", "exact")
    return (
        joint(
            f"fig{figure.replace('.', '')}-leads",
            says=f"EKFAC {ahead} in {what}, in five of eight cells",
            paper="best for forward operations",
            number=f"cells in which it is better by {APART} paired standard errors, of {THESIS}",
            statistic=by(products)(cells_ahead, value=value),
            holds=above(5),
            also=("by all classes", by(exact)(cells_ahead, value=value)),
            **shared,
        ),
        joint(
            f"fig{figure.replace('.', '')}-trails",
            says=f"EKFAC {behind} in {what} in one of eight cells at most",
            paper="best for forward operations",
            number=f"cells in which it is worse by {APART} paired standard errors, of {THESIS}",
            statistic=by(products)(cells_behind, value=value),
            holds=below(1),
            also=("by all classes", by(exact)(cells_behind, value=value)),
            **shared,
        ),
    )


CLAIMS = (
    joint(
        "fig33-kfac",
        figure="3.3",
        says="Of all representations KFAC's inverse undoes the exact matrix best, in two thirds of "
        "the cells where the best is neither useless nor perfect",
        paper="KFAC best for operations with the inverse",
        number="share of cells (network, moment, damping), of those whose best mean cosine between "
        f"v and v' is .1 to .99, in which KFAC's is the largest, of {THESIS}",
        tables=("fisher_solves",),
        statistic=by(of_both("fisher_solves", "mc"))(first_in_solves),
        holds=above(2 / 3),
        also=("by all classes", by(of_both("fisher_solves", "exact"))(first_in_solves)),
    ),
    *of_ekfac("3.4", "the direction of F v", "cosine"),
    *of_ekfac("3.5", "the length v F v", "distance"),
    claim(
        "fig36-sampling",
        figure="3.6",
        says="The traces of diagonal, quasi-diagonal and EKFAC are exact up to the drawn labels",
        paper="very accurately",
        number=f"distance from the exact trace in standard errors, of {THESIS}",
        tables=("fisher_traces",),
        statistic=by_run(sampling_errors, panels=NETWORKS),
        holds=below(3),
        threshold="three standard errors",
        seen="ResNet18 at its start was 3.53 of the five traces' standard errors, which made the "
        "row partly, until it was seen that these are a third too small there: over all classes "
        "the standard error is 5.0 and the distance 2.3 of it",
    ),
    claim(
        "fig36-kfac",
        figure="3.6",
        says="KFAC's trace is less accurate than EKFAC's",
        paper="less accurate",
        number=f"error of KFAC's trace over that of EKFAC's, of {THESIS}",
        tables=("fisher_traces",),
        statistic=by_run(trace_errors, panels=NETWORKS),
        holds=above(1),
        threshold="the sign of the text's word",
        unit=times,
    ),
    claim(
        "fig36-kfac-far",
        figure="3.6",
        says="KFAC's trace is five times as far off as EKFAC's",
        paper="less accurate",
        number=f"error of KFAC's trace over that of EKFAC's, of {THESIS}",
        tables=("fisher_traces",),
        statistic=by_run(trace_errors, panels=NETWORKS),
        holds=above(5),
        unit=times,
        section=Section.ours,
    ),
    claim(
        "traces",
        figure="3.6",
        says="By all classes the traces of diagonal, quasi-diagonal and EKFAC are that of F",
        paper="only sampling is left",
        number="largest relative distance from the exact trace, in float32",
        tables=("fisher_traces",),
        statistic=by_run(exact_traces, panels=NETWORKS),
        holds=below(1e-3),
        threshold="rounding",
        section=Section.identity,
    ),
    claim(
        "fig37-within",
        figure="3.7",
        says="Later in training the kernel of two classes highlights pairs of one class",
        paper="highlights intra-class examples",
        number="mean entry within a class less that between both, at the end less at the start",
        tables=("class_pair_kernel",),
        statistic=by_run(within_classes, panels=NETWORKS),
        holds=above(0),
        threshold="the sign of the text's word",
        seen="this was written",
    ),
    claim(
        "fig37-grows",
        figure="3.7",
        says="Training pulls two classes apart in the plane of the kernel's leading components",
        paper="linear separability in kernel PCA",
        number="accuracy of a line at the end less that at the start, mean over five pairs",
        tables=("class_pair_accuracy",),
        statistic=by_run(accuracy_gained, panels=NETWORKS),
        holds=above(0.1),
    ),
    claim(
        "fig37-apart",
        figure="3.7",
        says="In the end a line tells two classes apart in that plane",
        paper="linear separability in kernel PCA",
        number="accuracy of a line, mean over five pairs",
        tables=("class_pair_accuracy",),
        statistic=by_run(last_accuracy, panels=NETWORKS),
        holds=above(0.85),
    ),
)
