"""Loss and accuracy, of a minibatch and of whole sets."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from ntkexp.data import Split


def losses(outputs: Tensor, targets: Tensor) -> Tensor:
    """Per example: cross-entropy, or binary cross-entropy on the one logit of a two-class net."""
    if outputs.shape[1] == 1:
        return functional.binary_cross_entropy_with_logits(
            outputs[:, 0], targets.to(outputs.dtype), reduction="none"
        )
    return functional.cross_entropy(outputs, targets, reduction="none")


def correct(outputs: Tensor, targets: Tensor) -> Tensor:
    """Per example: whether the decision is the target, as a bool."""
    if outputs.shape[1] == 1:
        return (outputs[:, 0] > 0) == (targets > 0)
    return outputs.argmax(1) == targets


@torch.no_grad()
def evaluate(
    model: nn.Module, split: Split, *, examples: int | None, batch_size: int
) -> dict[str, tuple[float, float]]:
    """Mean loss and accuracy on the first `examples` of a split, by subset.

    Subsets: `all`, and where the split has a difficult part also `easy` and `difficult`.
    The examples of a split are in random order, so the first ones are a fixed random sample.
    """
    count = min(examples or len(split.targets), len(split.targets))
    loss, right = [], []
    for start in range(0, count, batch_size):
        chosen = slice(start, min(start + batch_size, count))
        outputs = model(split.inputs[chosen])
        loss.append(losses(outputs, split.targets[chosen]))
        right.append(correct(outputs, split.targets[chosen]))
    # Summed in float64: the mean then does not depend on the batch size beyond the last digits.
    all_losses, all_right = torch.cat(loss).double(), torch.cat(right).double()
    difficult = split.difficult[:count]
    subsets = {"all": torch.ones_like(difficult)}
    if bool(split.difficult.any()):
        subsets |= {"easy": ~difficult, "difficult": difficult}
    return {
        name: (all_losses[members].mean().item(), all_right[members].mean().item())
        for name, members in subsets.items()
    }
