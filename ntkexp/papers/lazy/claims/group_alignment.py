"""Ours: whether the kernel aligns preferably with the easy examples.

The prologue of chapter 6 of George's thesis says so in passing ("the NTK aligns preferably to the
groups of easy examples"), and measures it nowhere. Thresholds were set before a run was looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from ntkexp.claims.claim import Claim, Section, above
from ntkexp.claims.statistics import Group, by
from ntkexp.papers.lazy.claims.noise import ANY
from ntkexp.papers.lazy.curves import at_losses, family, keyed, mean
from ntkexp.results.record import Record

NOISE, MLP, VGG = "lazy/group_alignment_mlp", "lazy/c_scores_mlp", "lazy/c_scores_vgg11"
TITLES = {
    NOISE: "wrong labels, MLP",
    MLP: "C-scores, MLP",
    VGG: "C-scores, VGG11",
}
# Difficult and easy; and the loss by which progress is measured.
PAIRS = {
    NOISE: ("noisy", "intact", "intact"),
    MLP: ("decile1", "decile10", "all"),
    VGG: ("decile1", "decile10", "all"),
}
EXPERIMENTS = (NOISE, MLP, VGG, f"{VGG}_lazy")
LEVELS = (1.5, 1.0, 0.5, 0.25, 0.1)
AT = ["alpha", "seed", "step"]


def looks(record: Record) -> Iterator[tuple[float, int, pd.DataFrame]]:
    """(alpha, seed, frame): a row a look with `loss`, and the CKA of every group, class-centred."""
    progress = PAIRS[family(record.experiment)][2]
    evals = keyed(record, record.tables["evals"])
    chosen = (evals["split"] == "train") & (evals["subset"] == progress)
    losses = evals[chosen].set_index(AT)["loss"]
    ckas = keyed(record, record.tables["alignment"])
    chosen = (ckas["split"] == "train") & (ckas["layer"] == "total") & (ckas["centring"] == "class")
    wide = ckas[chosen].pivot_table(index=AT, columns="subset", values="cka")
    both = wide.join(losses, how="inner").reset_index()
    for key, frame in both.groupby(["alpha", "seed"]):
        alpha, seed = map(str, key)
        yield float(alpha), int(float(seed)), frame.sort_values("step")


def preference(frame: pd.DataFrame, hard: str, easy: str) -> float:
    """The rise of the easy group's CKA since the start less that of the difficult one, mean over
    loss levels."""
    risen_easy, risen_hard = (frame[name] - float(frame[name].iloc[0]) for name in (easy, hard))
    return mean(at_losses(frame.assign(gap=risen_easy - risen_hard), "gap", "loss", LEVELS))


def moving(records: Sequence[Record]) -> Iterator[Group]:
    """(panel, seed, looks, difficult group, easy group) of networks with alpha = 1, whose kernels
    move."""
    for record in records:
        hard, easy, _ = PAIRS[family(record.experiment)]
        for alpha, seed, frame in looks(record):
            if alpha == 1:
                yield TITLES[family(record.experiment)], seed, frame, hard, easy


CLAIMS = (
    Claim(
        id="lazy-group-alignment",
        figure="ours",
        says="Ours: in the non-linear regime the kernel aligns with the easy examples more than "
        "with the difficult ones",
        paper="preferably, not measured",
        number="rise of the CKA of easy less that of difficult training examples since the start, "
        "mean over losses from 1.5 to .1, alpha = 1",
        experiments=EXPERIMENTS,
        tables=("evals", "alignment"),
        statistic=by(moving)(preference),
        holds=above(0.0),
        threshold="the sign of the prologue's word",
        horizon=ANY,
        section=Section.ours,
    ),
)
