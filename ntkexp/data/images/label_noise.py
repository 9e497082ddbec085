"""Random labels."""

from __future__ import annotations

import torch
from torch import Tensor

from ntkexp.seeds import generator


def redraw_labels(
    labels: Tensor, share: float, classes: int, seed: int, purpose: str, *, excludes_true: bool
) -> tuple[Tensor, Tensor]:
    """Each label stays with probability 1 - share, else a uniform one takes its place.

    Returns the labels and who was redrawn. Of those, one in `classes` is right by chance, unless
    `excludes_true`. The draw of an example depends on the seed and its position in `labels`
    alone. A label that is redrawn at one share is redrawn, to the same class, at a higher share.

    >>> labels, redrawn = redraw_labels(
    ...     torch.zeros(4, dtype=torch.int64), 1.0, 2, 0, "noise", excludes_true=True
    ... )
    >>> labels.tolist(), redrawn.all().item()
    ([1, 1, 1, 1], True)
    """
    count = len(labels)
    chance = torch.rand(count, generator=generator(seed, purpose, 0), dtype=torch.float64)
    redrawn = chance < share
    if excludes_true:
        others = torch.randint(classes - 1, (count,), generator=generator(seed, purpose, 1))
        drawn = others + (others >= labels)  # skips the true one
    else:
        drawn = torch.randint(classes, (count,), generator=generator(seed, purpose, 1))
    return torch.where(redrawn, drawn, labels), redrawn
