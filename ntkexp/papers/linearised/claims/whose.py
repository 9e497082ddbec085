"""Ours: does the linearisation win on eigenfunctions of any such kernel, or of its own alone?

Thresholds were set after a trial of an MLP on 5,000 images with j = 100. The text's statement on a
diverse set of tasks is judged on the tasks of all these kernels, since their runs were there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from ntkexp.claims.claim import Section, above, below, sharing
from ntkexp.claims.curves import spearman
from ntkexp.claims.statistics import Group, Groups, by
from ntkexp.papers.linearised.kernels import (
    KERNEL,
    KINDS,
    OWN,
    alignments,
    by_kind,
    with_alignments,
)
from ntkexp.papers.linearised.tasks import Pair, experiments
from ntkexp.results.record import Record

EXTENDED, SEED, LENET, LENET_SEED = (
    f"linearised/whose_{kind}" for kind in ("extended", "seed", "lenet", "lenet_seed")
)


def tasks_of(experiment: str) -> Groups:
    """(panel, seed, a network and its linearisation on this kernel's eigenfunctions)."""

    def groups(records: Sequence[Record]) -> Iterator[Group]:
        pair = by_kind(records).get(experiment)
        if pair is not None and len(pair.gap):
            yield KINDS[experiment], pair.seed, pair

    return groups


def mean_gap(pair: Pair) -> float:
    """Mean over j of the network's accuracy less that of its linearisation."""
    return float(pair.gap.mean())


def alignments_of(experiment: str) -> Groups:
    """(panel, seed, alpha_0 of its tasks, that of the own kernel's eigenfunctions), by j."""

    def groups(records: Sequence[Record]) -> Iterator[Group]:
        table = alignments(records)
        if {experiment, KERNEL} <= {*table.index}:
            yield "", 0, table.loc[experiment], table.loc[KERNEL]

    return groups


def ratio(tasks: pd.Series, own: pd.Series) -> dict[str, float]:
    return {f"j = {j}": float(value) for j, value in (tasks / own).dropna().items()}


def all_tasks(records: Sequence[Record]) -> Iterator[Group]:
    frame = with_alignments(records)
    if len(frame):
        yield f"{len(frame)} tasks", 0, frame


def correlation(frame: pd.DataFrame, one: str, other: str) -> float:
    """Spearman's, of two columns of `with_alignments` over all its tasks."""
    return spearman(frame[one], frame[other])


by_alignment = sharing(
    "linearised-sec1-alignment-",
    figure=None,
    experiments=(*experiments(OWN, SEED, LENET), KERNEL),
    tables=("evals",),
    jointly=True,
    paper="a good measure of relative learning complexity for a diverse set of tasks",
    holds=above(0.8),
    threshold="ours, as for a fall with some noise",
    seen="this was written",
    also=("of both test accuracies", by(all_tasks)(correlation, one="network", other="linear")),
)
claim = sharing(
    "linearised-whose-",
    figure="ours",
    tables=("evals",),
    section=Section.ours,
    paper="not said",
    number="mean over j of test accuracies, network less linearisation",
    threshold="ours",
)
BESIDE = "alignment with the own kernel over that of its own eigenfunction"

CLAIMS = (
    *(
        by_alignment(
            column,
            says=f"Over tasks of several kernels a {model} is the better, the more "
            "they are aligned with the first kernel",
            number=f"Spearman's correlation of alpha_0 and the test accuracy of the {model}",
            statistic=by(all_tasks)(correlation, one="alpha", other=column),
        )
        for column, model in (("network", "network"), ("linear", "linearisation"))
    ),
    claim(
        "extended",
        says="Ours: a network is worse than its linearisation also on eigenfunctions of its own "
        "kernel that know no test image",
        experiments=(*experiments(EXTENDED), KERNEL),
        statistic=by(tasks_of(EXTENDED))(mean_gap),
        holds=below(-0.05),
        also=(BESIDE, by(alignments_of(EXTENDED))(ratio)),
        pilot=True,
        seen="this was written: it was -.21 in a trial",
    ),
    claim(
        "seed",
        says="Ours: on eigenfunctions of another initialisation's kernel an MLP is not worse",
        experiments=(*experiments(SEED), KERNEL),
        statistic=by(tasks_of(SEED))(mean_gap),
        holds=above(-0.02),
        also=(BESIDE, by(alignments_of(SEED))(ratio)),
        pilot=True,
        seen="this was written: it was .03 in a trial",
    ),
    claim(
        "lenet",
        says="Ours: on eigenfunctions of LeNet's kernel an MLP is not worse",
        experiments=(*experiments(LENET), KERNEL),
        statistic=by(tasks_of(LENET))(mean_gap),
        holds=above(-0.02),
        also=(BESIDE, by(alignments_of(LENET))(ratio)),
    ),
    claim(
        "lenet-seed",
        says="Ours: on an eigenfunction of another initialisation's kernel LeNet is not worse",
        experiments=experiments(LENET_SEED),
        statistic=by(tasks_of(LENET_SEED))(mean_gap),
        holds=above(-0.02),
    ),
)
