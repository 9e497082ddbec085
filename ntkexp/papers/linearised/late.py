"""Ours: linearisations at weights along a network's training."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from ntkexp.papers.linearised.tasks import TRAINED
from ntkexp.results.record import Record

# (network, its linearisations) -> what they are trained on
KINDS = {
    ("linearised/moving", "linearised/late"): "the 100th eigenfunction",
    ("linearised/cifar2_mlp", "linearised/late_cifar2"): "CIFAR2",
}
# Updates of an epoch: 50,000 images in batches of 128, without the smaller last one.
EPOCH = 390


def late(records: Sequence[Record]) -> pd.DataFrame:
    """A row a linearisation: the epoch of its weights, its test accuracy, the distance from those
    weights when its training loss first was `TRAINED`, or at its end where it never was."""
    rows = []
    for record in records:
        moved = record.tables["distance"].sort_values("step").set_index("step")["distance"]
        events = record.tables.get("events", pd.DataFrame(columns=["event", "threshold", "step"]))
        below = events[(events["event"] == "train_loss") & (events["threshold"] == TRAINED)]
        reached = len(below) > 0
        rows.append(
            {
                "epoch": epoch(record),
                "accuracy": accuracy(record),
                "distance": float(moved.loc[below["step"].min()] if reached else moved.iloc[-1]),
                "reached": reached,
            }
        )
    return pd.DataFrame(rows).sort_values("epoch", ignore_index=True)


def epoch(record: Record) -> float:
    """The epoch of the weights at which it is linearised."""
    return int(record.config["weights.file"].split(".")[1]) / EPOCH


def accuracy(record: Record) -> float:
    """Test accuracy at the last look."""
    evals = record.tables["evals"]
    test = evals[(evals["split"] == "test") & (evals["subset"] == "all")]
    return float(test.sort_values("step")["accuracy"].iloc[-1])
