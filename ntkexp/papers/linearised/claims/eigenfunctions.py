"""Figures 2, 3 and 10 to 13: networks and their linearisations on eigenfunctions of the kernel.

All thresholds were set before the runs. Networks are judged as the text's epochs leave them;
whether they are trained by then is a statement of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from ntkexp.claims.claim import Case, Claim, Section, Statistic, above, below, each_run, sharing
from ntkexp.papers.linearised.tasks import (
    LINEAR,
    TITLES,
    TRAINED,
    Pair,
    experiments,
    of_seeds,
    pairs,
)
from ntkexp.results.record import Record

# From here on the network is worse than its linearisation.
FROM = 10
SMALL_MLP = "this was written, of an MLP on 5,000 images"
# A task was to be left out if its network ends above .01: nine of the MLP's ten from j = 10 on.
COUNTED = (
    "it was decided to count tasks whose network ends above a training loss of .01 (results of the "
    "MLP by SGD, not of its linearisation)"
)
WITH_ALL, WITH_FOUR = -0.9, -0.8
TABLES = ("evals",)


def title(experiment: str) -> str:
    """Whose tasks they are: `MLP, network`."""
    whose = "linearisation" if experiment.endswith(LINEAR) else "network"
    return f"{TITLES[experiment.removesuffix(LINEAR)]}, {whose}"


def rank(frame: pd.DataFrame, column: str) -> float:
    """Spearman's correlation of j with a column, without the last digit: .9 of five tasks is .9."""
    return round(float(spearmanr(frame.index.to_numpy(dtype=float), frame[column]).statistic), 9)


def ranks(column: str, least: int = 4) -> Statistic:
    """A case for the tasks of an experiment and seed; its panel says whose they are. A task without
    a number is left out, for ties at the end lower the highest correlation there can be (eight of
    thirteen: .88). Fewer tasks than `least` say nothing."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        for (experiment, seed), frame in of_seeds(records).items():
            counted = frame[np.isfinite(frame[column])]
            if len(counted) >= least:
                yield Case(title(experiment), seed, rank(counted, column))

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
    """The share of tasks in which the network came to the loss no sooner than its linearisation, of
    those where one of them came there; who never does is last."""
    network, linear = pair.network["steps"], pair.linear["steps"]
    came = np.isfinite(network) | np.isfinite(linear)
    return float((network >= linear)[came].mean())


def highest_loss(records: Sequence[Record]) -> Iterable[Case]:
    """The highest training loss of the networks at their ends, over tasks."""
    for (experiment, seed), frame in of_seeds(records).items():
        yield Case(TITLES[experiment], seed, float(frame["train_loss"].max()))


falls = sharing(
    "linearised-",
    tables=TABLES,
    threshold="ours, for a monotone fall with little noise",
    paper="progressively drops",
    number="Spearman's correlation of j and test accuracy",
    says="Test accuracy falls with the index of the eigenfunction, of networks and linearisations",
    seen=COUNTED,
)
behind = sharing(
    "linearised-",
    tables=TABLES,
    threshold="ours",
    paper="linear models are much better",
    jointly=True,
    seen=f"{SMALL_MLP}, and when {COUNTED}",
)
FOUR = experiments("linearised/mlp_seeds")
SGD, ADAM, MNIST = (experiments(f"linearised/mlp{end}") for end in ("", "_adam", "_mnist"))
LENET, LENET_ADAM, LENET_MNIST = (
    experiments(f"linearised/lenet{end}") for end in ("", "_adam", "_mnist")
)
RESNET = experiments("linearised/resnet18")
NETWORKS = (SGD[0], FOUR[0], ADAM[0], MNIST[0], LENET[0], LENET_ADAM[0], LENET_MNIST[0], RESNET[0])


def gap_claims(figure: str, experiments: Sequence[str], name: str) -> tuple[Claim, Claim]:
    """A network is worse than its linearisation at each j, and by how much on average."""
    return (
        behind(
            f"{name}-gap",
            figure=figure,
            experiments=experiments,
            says="On every eigenfunction from the 10th on the network is worse than its "
            "linearisation",
            number="largest difference of test accuracies, network less linearisation, j >= 10",
            statistic=of_pairs(largest_gap),
            holds=below(0.0),
        ),
        behind(
            f"{name}-mean-gap",
            figure=figure,
            experiments=experiments,
            says="The network is worse than its linearisation by five points on average",
            number="mean difference of test accuracies, network less linearisation, j >= 10",
            statistic=of_pairs(mean_gap),
            holds=below(-0.05),
        ),
    )


def growth_claims(figure: str, experiment: str) -> Iterator[Claim]:
    """Steps, distance and cosine distance grow with j."""
    reached = ", and when those that never come there were left out (.9 of five tasks)"
    for column, table, number, says, also_seen in (
        ("steps", "events", "steps, of tasks that come there",
         "more steps it takes to a training loss of .01", reached),
        ("distance", "distance", "|theta_T - theta_0|", "farther the weights move", ""),
        ("cosine_distance", "distance", "the cosine distance of theta_0 and theta_T",
         "farther the weights turn", ""),
    ):  # fmt: skip
        yield Claim(
            f"linearised-fig{figure:0>2}-{column.partition('_')[0]}",
            figure,
            f"The later the eigenfunction, the {says}",
            paper="grows with the index",
            number=f"Spearman's correlation of j and {number}",
            experiments=(experiment,),
            tables=("evals", table),
            statistic=ranks(column),
            holds=above(0.9),
            threshold="ours",
            seen=COUNTED + also_seen,
        )


def drops(records: Sequence[Record]) -> Iterable[Case]:
    """The fall of accuracy from the first task to the last, where there are few."""
    for (experiment, seed), frame in of_seeds(records).items():
        if len(frame) > 1:
            fall = frame["accuracy"].iloc[0] - frame["accuracy"].iloc[-1]
            yield Case(title(experiment), seed, float(fall))


def crossing(pair: Pair) -> float:
    """The smaller size of the gaps at 300 and 700; negative where both are on one side."""
    if not {300, 700} <= {*pair.gap.index}:
        return float("nan")
    early, late = pair.gap[300], pair.gap[700]
    size = min(abs(early), abs(late))
    return float(size if early * late < 0 else -size)


sooner = sharing(
    "linearised-",
    figure=None,
    tables=("evals", "events"),
    threshold="the text",
    jointly=True,
    paper="much faster, in every experiment",
    says="On every task a network comes to a training loss of .01 before its linearisation",
    number="share of tasks in which the network is no sooner",
    statistic=of_pairs(reached_later),
    holds=below(0.0),
    seen="this was written: in a trial it was not so at j = 2 and 20",
)
trained = Claim(
    "linearised-appA-trained",
    None,
    "A hundred epochs are enough for networks to come close to a training loss of zero",
    paper="close to zero",
    number="highest training loss at the end, over tasks",
    experiments=NETWORKS,
    tables=TABLES,
    statistic=highest_loss,
    holds=below(TRAINED),
    threshold="the text's level of Figure 3",
    seen=COUNTED,
)
KERNELS = {
    f"linearised/pairs_{net}{end}": f"{title}{images}"
    for net, title in (("mlp", "MLP"), ("lenet", "LeNet"))
    for end, images in (("", ""), ("_mnist", ", MNIST"))
}
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
    section=Section.identity,
)

CLAIMS = (
    falls("fig02-falls", figure="2", experiments=(*SGD, *LENET), statistic=ranks("accuracy"),
          holds=below(WITH_ALL)),
    falls("fig02-falls-seeds", figure="2", experiments=FOUR, statistic=ranks("accuracy"),
          holds=below(WITH_FOUR)),
    *gap_claims("2", SGD, "fig02"),
    *gap_claims("2", FOUR, "fig02-seeds"),
    *gap_claims("2", LENET, "fig02-lenet"),
    falls("fig02-falls-resnet18", figure="2", experiments=RESNET, statistic=ranks("accuracy"),
          holds=below(WITH_FOUR)),
    *gap_claims("2", RESNET, "fig02-resnet18"),
    *growth_claims("3", "linearised/resnet18"),
    falls("fig10-falls", figure="10", experiments=ADAM, statistic=ranks("accuracy"),
          holds=below(WITH_ALL)),
    falls("fig10-falls-lenet", figure="10", experiments=LENET_ADAM, statistic=drops,
          holds=above(0.02), number="test accuracy at j = 100 less that at j = 400"),
    *gap_claims("10", ADAM, "fig10"),
    *gap_claims("10", LENET_ADAM, "fig10-lenet"),
    falls("fig11-falls", figure="11", experiments=(*MNIST, *LENET_MNIST),
          statistic=ranks("accuracy"), holds=below(WITH_ALL)),
    behind("fig11-crossing", figure="11", experiments=LENET_MNIST,
           says="On MNIST LeNet and its linearisation change places between j = 300 and 700",
           paper="the curves cross around the 500th", seen="",
           number="the smaller size of the two gaps; negative where they are of one sign",
           statistic=of_pairs(crossing), holds=above(0.01)),
    *growth_claims("12", "linearised/mlp"),
    *growth_claims("13", "linearised/lenet"),
    sooner("sec43-sooner", experiments=SGD),
    sooner("sec43-sooner-seeds", experiments=FOUR),
    sooner("sec43-sooner-lenet", experiments=LENET, seen=""),
    sooner("sec43-sooner-resnet18", experiments=RESNET, seen=""),
    trained,
    residuals,
)  # fmt: skip
