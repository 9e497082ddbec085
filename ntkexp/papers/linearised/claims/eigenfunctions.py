"""Figures 2, 10, 11 and 12: networks and their linearisations on eigenfunctions of the kernel.

All thresholds were set before the runs. A network whose training loss ends above .01 leaves its
task undecided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pandas as pd
from scipy.stats import spearmanr

from ntkexp.claims.claim import Case, Claim, Section, Statistic, above, below, each_run, sharing
from ntkexp.claims.horizon import OWN_END
from ntkexp.papers.linearised.tasks import (
    LINEAR,
    TITLES,
    TRAINED,
    Pair,
    experiments,
    pairs,
    tasks,
)
from ntkexp.results.record import Record

# From here on the network is worse than its linearisation.
FROM = 10
SMALL_MLP = "an MLP on 5,000 images had been tried"
WITH_ALL, WITH_FOUR = -0.9, -0.8
TABLES = ("evals",)


def trained(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["train_loss"] <= TRAINED]


def rank(frame: pd.DataFrame, column: str) -> float:
    """Spearman's correlation of j with a column; not a number for fewer than four tasks."""
    if len(frame) < 4:
        return float("nan")
    return float(spearmanr(frame.index.to_numpy(dtype=float), frame[column]).statistic)


def ranks(column: str) -> Statistic:
    """A case a run; its panel says whose tasks they are. A linearisation counts as it is."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        for record in records:
            own = record.experiment.removesuffix(LINEAR)
            linear = record.experiment != own
            frame = tasks(record) if linear else trained(tasks(record))
            whose = "linearisation" if linear else "network"
            yield Case(f"{TITLES[own]}, {whose}", record.seed, rank(frame, column))

    return cases


def of_pairs(value: Callable[[Pair], float]) -> Statistic:
    """A case for a network and its linearisation."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        for pair in pairs(records):
            yield Case(pair.title, pair.seed, value(pair))

    return cases


def largest_gap(pair: Pair) -> float:
    gap = pair.gap
    return float(gap[gap.index >= FROM].max())


def mean_gap(pair: Pair) -> float:
    gap = pair.gap
    return float(gap[gap.index >= FROM].mean())


def reached_later(pair: Pair) -> float:
    """The share of tasks in which the network came to the loss no sooner than its linearisation;
    who never comes there is last."""
    decided = pair.network["train_loss"] <= TRAINED
    return float((pair.network["steps"] >= pair.linear["steps"])[decided].mean())


falls = sharing(
    "linearised-",
    tables=TABLES,
    threshold="ours, for a monotone fall with little noise",
    horizon=OWN_END,
    paper="progressively drops",
    number="Spearman's correlation of j and test accuracy",
    says="Test accuracy falls with the index of the eigenfunction, of networks and linearisations",
)
behind = sharing(
    "linearised-",
    tables=TABLES,
    threshold="ours",
    horizon=OWN_END,
    paper="linear models are much better",
    jointly=True,
    seen=SMALL_MLP,
)
FOUR = experiments("linearised/mlp_seeds")
SGD, ADAM, MNIST = (experiments(f"linearised/mlp{end}") for end in ("", "_adam", "_mnist"))


def gap_claims(figure: str, of: Sequence[str], name: str) -> tuple[Claim, Claim]:
    """A network is worse than its linearisation at each j, and by how much on average."""
    return (
        behind(
            f"{name}-gap",
            figure=figure,
            experiments=of,
            says="On every eigenfunction from the 10th on the network is worse than its "
            "linearisation",
            number="largest difference of test accuracies, network less linearisation, j >= 10",
            statistic=of_pairs(largest_gap),
            holds=below(0.0),
        ),
        behind(
            f"{name}-mean-gap",
            figure=figure,
            experiments=of,
            says="The network is worse than its linearisation by five points on average",
            number="mean difference of test accuracies, network less linearisation, j >= 10",
            statistic=of_pairs(mean_gap),
            holds=below(-0.05),
        ),
    )


grows = sharing(
    "linearised-fig12-",
    figure="12",
    experiments=("linearised/mlp",),
    threshold="ours",
    horizon=OWN_END,
    paper="grows with the index",
    holds=above(0.9),
)

sooner = sharing(
    "linearised-",
    figure=None,
    tables=("evals", "events"),
    threshold="the text",
    horizon=OWN_END,
    jointly=True,
    paper="much faster, in every experiment",
    says="On every task a network comes to a training loss of .01 before its linearisation",
    number="share of tasks in which the network is no sooner",
    statistic=of_pairs(reached_later),
    holds=below(0.0),
    seen="in the trial it was not so at j = 2 and 20",
)
KERNELS = {"linearised/pairs_mlp": "MLP", "linearised/pairs_mlp_mnist": "MLP, MNIST"}
residuals = Claim(
    "linearised-pairs-residuals",
    None,
    "The eigenpairs that tasks are made of are eigenpairs",
    paper="eigenvectors of the Gram matrix of all images",
    number="largest |K v - mu v| / mu of 1,000 pairs",
    experiments=tuple(KERNELS),
    tables=("eigenpairs",),
    statistic=each_run(
        lambda record: float(record.tables["eigenpairs"]["residual"].max()), KERNELS
    ),
    holds=below(1e-4),
    threshold="ours",
    horizon=OWN_END,
    section=Section.identity,
)

CLAIMS = (
    falls("fig02-falls", figure="2", experiments=SGD, statistic=ranks("accuracy"),
          holds=below(WITH_ALL)),
    falls("fig02-falls-seeds", figure="2", experiments=FOUR, statistic=ranks("accuracy"),
          holds=below(WITH_FOUR)),
    *gap_claims("2", SGD, "fig02"),
    *gap_claims("2", FOUR, "fig02-seeds"),
    falls("fig10-falls", figure="10", experiments=ADAM, statistic=ranks("accuracy"),
          holds=below(WITH_ALL)),
    *gap_claims("10", ADAM, "fig10"),
    falls("fig11-falls", figure="11", experiments=MNIST, statistic=ranks("accuracy"),
          holds=below(WITH_ALL)),
    grows("steps", tables=("evals", "events"), number="Spearman's correlation of j and steps",
          says="The later the eigenfunction, the more steps to a training loss of .01",
          statistic=ranks("steps")),
    grows("distance", tables=("evals", "distance"),
          number="Spearman's correlation of j and |theta_T - theta_0|",
          says="The later the eigenfunction, the farther the weights move",
          statistic=ranks("distance")),
    grows("cosine", tables=("evals", "distance"),
          number="Spearman's correlation of j and the cosine distance of theta_0 and theta_T",
          says="The later the eigenfunction, the farther the weights turn",
          statistic=ranks("cosine_distance")),
    sooner("sec43-sooner", experiments=SGD),
    sooner("sec43-sooner-seeds", experiments=FOUR),
    residuals,
)  # fmt: skip
