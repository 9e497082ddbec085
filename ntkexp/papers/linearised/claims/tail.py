"""Ours: who is sooner at a training loss of .01, a network or its linearisation, follows the tail
of the first kernel. The sign of an eigenfunction has much of its energy in later ones, and how fast
a linearisation fits those is what the tail decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from ntkexp.claims.claim import Claim, Section, above, times
from ntkexp.claims.statistics import Group, by
from ntkexp.papers.linearised.claims.numbers import reached_later
from ntkexp.papers.linearised.tasks import STANDARD, experiments, pairs
from ntkexp.results.record import Record

PLACE = 1000
NETWORKS = tuple(
    f"linearised/{net}"
    for net in ("mlp", "mlp_mnist", "lenet", "lenet_mnist", f"resnet18{STANDARD}")
)


def pairs_of(network: str) -> str:
    """The study of the eigenfunctions that a network is trained on."""
    return network.replace("/", "/pairs_", 1)


def tails(records: Sequence[Record]) -> Iterator[Group]:
    """(panel, seed, a row a network: lambda_1000, the share of its tasks in which the linearisation
    is as soon)."""
    values = {
        record.experiment: float(
            record.tables["eigenpairs"].set_index("index")["eigenvalue"][PLACE]
        )
        for record in records
        if "eigenpairs" in record.tables and record.seed == 0
    }
    rows = [
        (pair.title, values[pairs_of(pair.experiment)], reached_later(pair))
        for pair in pairs([record for record in records if "evals" in record.tables])
        if pairs_of(pair.experiment) in values
    ]
    if len(rows) > 1:
        yield "", 0, pd.DataFrame(rows, columns=["title", "tail", "as_soon"]).set_index("title")


def parted(frame: pd.DataFrame) -> float:
    """The least tail of networks that are mostly later, over the largest of those mostly sooner."""
    later = frame["as_soon"] >= 0.5
    return float(frame["tail"][later].min() / frame["tail"][~later].max())


def shares(frame: pd.DataFrame) -> dict[str, float]:
    return {
        f"{title}, {tail:.2g}": float(share)
        for title, tail, share in frame.sort_values("tail").itertuples()
    }


CLAIMS = (
    Claim(
        "linearised-tail",
        "ours",
        "Ours: a linearisation is sooner than its network where the kernel's tail is heavy",
        paper="not said",
        number=f"the least λ_{PLACE} of networks that are later in most tasks, over the largest of "
        "the others",
        experiments=(*map(pairs_of, NETWORKS), *experiments(*NETWORKS)),
        tables=(),
        statistic=by(tails)(parted),
        holds=above(1.0),
        threshold="ours",
        seen="this was written",
        unit=times,
        section=Section.ours,
        also=("share of tasks in which the linearisation is as soon, by λ", by(tails)(shares)),
    ),
)
