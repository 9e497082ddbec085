"""Loss and accuracy of whole sets."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

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
    """Mean loss and accuracy of a network on the first `examples` of a split, by subset."""

    def outputs_of(chosen: slice) -> Tensor:
        outputs: Tensor = model(split.inputs[chosen].contiguous(memory_format=layout))
        return outputs

    return judged(
        outputs_of, split, objective, examples=examples, batch_size=batch_size, subsets=subsets
    )


@torch.no_grad()
def judged(
    outputs_of: Callable[[slice], Tensor],
    split: Split,
    objective: Loss,
    *,
    examples: int | None,
    batch_size: int,
    subsets: Collection[str] = (),
) -> dict[str, tuple[float, float]]:
    """Mean loss and accuracy on the first `examples` of a split, by subset, from their outputs.

    Subsets: `all`, where the split has a difficult part also `easy` and `difficult`, and those of
    `subsets` that it has.
    The examples of a split are in random order, so the first ones are a fixed random sample.
    """
    count = min(examples or len(split.targets), len(split.targets))
    loss, right = [], []
    for start in range(0, count, batch_size):
        chosen = slice(start, min(start + batch_size, count))
        outputs = outputs_of(chosen)
        loss.append(objective.losses(outputs, split.targets[chosen]))
        right.append(objective.correct(outputs, split.targets[chosen]))
    # Summed in float64: the mean then does not depend on the batch size beyond the last digits.
    all_losses, all_right = torch.cat(loss).double(), torch.cat(right).double()
    return {
        name: (all_losses[members[:count]].mean().item(), all_right[members[:count]].mean().item())
        for name, members in split.subsets().items()
        if name in ALWAYS or name in subsets
    }


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Eval mode inside, every module's own mode again afterwards."""
    # Only what differs is set: model.eval() takes a tenth of a small network's step.
    modes = [(module, module.training) for module in model.modules()]
    for module, mode in modes:
        if mode:
            module.training = False
    try:
        yield
    finally:
        for module, mode in modes:
            if module.training is not mode:
                module.training = mode
