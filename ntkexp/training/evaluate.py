"""Loss and accuracy of whole sets."""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import nn

from ntkexp.data import Split
from ntkexp.objectives.losses import Loss
from ntkexp.results.table import STEP, Table, float64, string

EVALS = Table(
    "evals",
    "loss and accuracy of the network at a step on fixed examples of a split",
    {
        "step": STEP,
        "split": string("`train` or `test`"),
        "subset": string("`all`, `easy` or `difficult`"),
        "loss": float64("mean cross-entropy, nats"),
        "accuracy": float64("share that is right, 0 to 1"),
    },
)


ALWAYS = ("all", "easy", "difficult")


@torch.no_grad()
def evaluate(
    model: nn.Module,
    split: Split,
    objective: Loss,
    *,
    examples: int | None,
    batch_size: int,
    subsets: Collection[str] = (),
    layout: torch.memory_format = torch.contiguous_format,
) -> dict[str, tuple[float, float]]:
    """Mean loss and accuracy on the first `examples` of a split, by subset.

    Subsets: `all`, where the split has a difficult part also `easy` and `difficult`, and those of
    `subsets` that it has.
    The examples of a split are in random order, so the first ones are a fixed random sample.
    """
    count = min(examples or len(split.targets), len(split.targets))
    loss, right = [], []
    for start in range(0, count, batch_size):
        chosen = slice(start, min(start + batch_size, count))
        outputs = model(split.inputs[chosen].contiguous(memory_format=layout))
        loss.append(objective.losses(outputs, split.targets[chosen]))
        right.append(objective.correct(outputs, split.targets[chosen]))
    # Summed in float64: the mean then does not depend on the batch size beyond the last digits.
    all_losses, all_right = torch.cat(loss).double(), torch.cat(right).double()
    return {
        name: (all_losses[members[:count]].mean().item(), all_right[members[:count]].mean().item())
        for name, members in split.subsets().items()
        if name in ALWAYS or name in subsets
    }
