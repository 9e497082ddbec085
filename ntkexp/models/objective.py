"""What a network is trained to lower, and what counts as a right answer."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional


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
