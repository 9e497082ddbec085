"""Loss and accuracy of whole sets, and the metrics that `evaluate.metrics` asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ntkexp.data import Split
from ntkexp.errors import UserError
from ntkexp.objectives.base import Loss
from ntkexp.objectives.metrics import Metric
from ntkexp.results.table import STEP, Table, float64, string

SPLITS = ("train", "test")
EVALS = Table(
    "evals",
    "loss and accuracy of the network at a step on fixed examples of a split",
    {
        "step": STEP,
        "split": string("`train` or `test`", SPLITS),
        "subset": string("`all`, `easy` or `difficult`"),
        "loss": float64(
            "mean loss: cross-entropy in nats, or half the squared distance from the targets with "
            "`objective=squared_error`"
        ),
        "accuracy": float64("share that is right, 0 to 1"),
    },
)
METRICS = Table(
    "metrics",
    "a metric beside loss and accuracy, on the examples of `evals`; only with `evaluate.metrics`",
    {
        "step": STEP,
        "split": string("`train` or `test`", SPLITS),
        "subset": string("`all`, `easy`, `difficult` or another of `evals`"),
        "metric": string("one of `evaluate.metrics`"),
        "value": float64("in the metric's own units; no number where it is not defined"),
    },
    notes="Squared error has `r_squared` and `mean_absolute_error`, binary cross-entropy "
    "`area_under_curve`, and it and cross-entropy `mean_margin` and `least_margin`; the formulas "
    "are in ntkexp/objectives/metrics.py.",
)

ALWAYS = ("all", "easy", "difficult")
EXAMPLES_AT_ONCE = 500


@torch.no_grad()
def outputs_of(network: Callable[[Tensor], Tensor], inputs: Tensor) -> Tensor:
    """(n, c): the outputs of a network on any number of examples, without a graph."""
    return torch.cat([network(part) for part in torch.split(inputs, EXAMPLES_AT_ONCE)])


def evaluate(
    model: nn.Module,
    split: Split,
    objective: Loss,
    *,
    layout: torch.memory_format = torch.contiguous_format,
    **options: Any,
) -> dict[str, tuple[float, ...]]:
    """Mean loss, accuracy and metrics of a network by subset; `options` are those of `judged`."""

    def outputs_of(chosen: slice) -> Tensor:
        outputs: Tensor = model(split.inputs[chosen].contiguous(memory_format=layout))
        return outputs

    return judged(outputs_of, split, objective, **options)


@torch.no_grad()
def judged(
    outputs_of: Callable[[slice], Tensor],
    split: Split,
    objective: Loss,
    *,
    examples: int | None,
    batch_size: int,
    subsets: Collection[str] = (),
    metrics: Sequence[Metric] = (),
) -> dict[str, tuple[float, ...]]:
    """Mean loss, accuracy and each of `metrics` on the first `examples` of a split, by subset, from
    their outputs.

    Subsets: `all`, where the split has a difficult part also `easy` and `difficult`, and those of
    `subsets` that it has.
    The examples of a split are in random order, so the first ones are a fixed random sample.
    """
    count = min(examples or len(split.targets), len(split.targets))
    loss, right, all_outputs = [], [], []
    for start in range(0, count, batch_size):
        chosen = slice(start, min(start + batch_size, count))
        outputs = outputs_of(chosen)
        refuse_shape(outputs, chosen.stop - chosen.start, objective.outputs)
        loss.append(objective.losses(outputs, split.targets[chosen]))
        right.append(objective.correct(outputs, split.targets[chosen]))
        if metrics:
            all_outputs.append(outputs)
    # Summed in float64: the mean then does not depend on the batch size beyond the last digits.
    all_losses, all_right = torch.cat(loss).double(), torch.cat(right).double()
    by_subset: dict[str, tuple[float, ...]] = {}
    for name, mask in split.subsets().items():
        if name in ALWAYS or name in subsets:
            members = mask[:count]
            usual = all_losses[members].mean().item(), all_right[members].mean().item()
            more = _measured(metrics, all_outputs, split.targets[:count], members)
            by_subset[name] = (*usual, *more)
    return by_subset


def refuse_shape(outputs: Tensor, examples: int, expected: int) -> None:
    """Refuse outputs (n,) for (n, 1), of a network of your own: they would be broadcast to wrong
    losses."""
    if not isinstance(outputs, Tensor):
        raise UserError(
            f"model: gives a {type(outputs).__name__}; expected a tensor {(examples, expected)}"
        )
    if outputs.shape != (examples, expected):
        raise UserError(
            f"model: outputs of shape {tuple(outputs.shape)} for {examples:,} examples; expected "
            f"{(examples, expected)}"
        )


def _measured(
    metrics: Sequence[Metric], outputs: Sequence[Tensor], targets: Tensor, members: Tensor
) -> list[float]:
    """Each metric on some examples; no number where there are none."""
    if not metrics or not members.any():
        return [math.nan] * len(metrics)
    chosen = torch.cat([*outputs])[members], targets[members]
    return [metric(*chosen) for metric in metrics]
