"""Figure 4: linear tasks along anisotropy directions, where networks are ahead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd
from scipy.stats import spearmanr

from ntkexp.claims.claim import Case, above, below, each_run, sharing
from ntkexp.papers.linearised.numbers import ranks
from ntkexp.papers.linearised.tasks import Pair, by_task, experiments, pairs
from ntkexp.results.record import Record

NETWORK = "linearised/separable"
# The gap is judged where the network has learned the task.
LEARNED = 0.9


def learned(pair: Pair) -> pd.Index:
    """The tasks on which the network has `LEARNED`."""
    return pair.network.index[pair.network["accuracy"] >= LEARNED]


def mean_gap(records: Sequence[Record]) -> Iterable[Case]:
    """Test accuracy of the network less that of its linearisation, mean over learned tasks."""
    for pair in pairs(records):
        if len(at := learned(pair)):
            yield Case(f"{len(at)} tasks", pair.seed, float(pair.gap[at].mean()))


def other_gaps(records: Sequence[Record]) -> Iterable[Case]:
    """The gap over all tasks, and that to kernel regression over learned ones and all."""
    regression = by_task(records, "kernel_regression")
    for pair in pairs(records):
        whole = pair.gap.index
        yield Case(f"all {len(whole)} tasks", pair.seed, float(pair.gap.mean()))
        if len(regression):
            test = regression[regression["split"] == "test"].groupby("data.index")["accuracy"]
            gap = pair.network["accuracy"] - test.mean()
            for at in (learned(pair), whole):
                name = f"{len(at)} tasks, kernel regression"
                yield Case(name, pair.seed, float(gap[at].mean()))


def ranks_of_the_mean(record: Record) -> float:
    table = record.tables["directions"]
    return float(spearmanr(table["alignment"], table["gaussian"]).statistic)


def ratios_of_the_mean(records: Sequence[Record]) -> Iterable[Case]:
    """Alignment under the mean derivative over that at the origin, first and last direction."""
    for record in records:
        table = record.tables["directions"]
        ratios = table["gaussian"] / table["alignment"]
        yield Case("first", record.seed, float(ratios.iloc[0]))
        yield Case("last", record.seed, float(ratios.iloc[-1]))


claim = sharing("linearised-directions-", figure="4", tables=("evals",))

CLAIMS = (
    claim(
        "rank",
        says="A network learns a linear task the better, the more its direction is aligned with "
        "the kernel",
        experiments=(NETWORK,),
        statistic=ranks("accuracy"),
        holds=below(-0.8),
        number="Spearman's correlation of the direction's index and a network's test accuracy",
        paper="better on the first",
        threshold="ours, for a fall with some noise",
        seen="this was written: .999, .998, .52 at 1, 100, 512 in a trial",
    ),
    claim(
        "gap",
        says="On these tasks networks are far ahead of their linearisations",
        experiments=experiments(NETWORK),
        statistic=mean_gap,
        holds=above(0.05),
        number="test accuracy less that of the linearisation, mean over the tasks on which the "
        "network has .9",
        paper="strong non-linear advantage",
        threshold="ours",
        seen="this was written: a network had .52 at 512 in a trial; and when tasks were let count "
        "whose network ends above a training loss of .01 (results of the MLP on eigenfunctions); "
        "without these it fails",
        also=("over other tasks and to kernel regression", other_gaps),
    ),
    claim(
        "mean",
        figure=None,
        says="At the origin and on average over inputs the kernel ranks the directions alike",
        experiments=("linearised/directions_lenet",),
        tables=("directions",),
        statistic=each_run(ranks_of_the_mean),
        holds=above(0.9),
        number="Spearman's correlation of the alignments by the derivative at the origin and by "
        "its mean over Gaussian inputs",
        paper="no significant difference",
        threshold="ours",
        seen="this was written",
        also=("alignment by the mean over that at the origin", ratios_of_the_mean),
    ),
)
