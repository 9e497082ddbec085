"""Whether gradients, too, are each example's own: of some examples alone and within the batch.

Outputs may hide a coupling that the kernel shows. With a last layer of zeros, as vision
transformers begin, all outputs are zero, whatever the examples do to one another before it; but
the gradient of that layer's weight is what enters it. Where a network consists of operations that
keep examples apart (operations.py) little can be hidden, and no backward is spent on it.

Rounding may change a gradient much: a ReLU whose input is nearly zero opens in one batch and stays
closed in another. Then it does so, too, when the weights are rounded otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from ntkexp.errors import UserError
from ntkexp.tangent.batch import Batch
from ntkexp.tangent.checks.independence import COUPLED, rearranged, rounded_weights
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.passes.reference import drawn, gradients, length

# Difference of a parameter's gradient that is nothing unusual, and in units of the gradient of all
# parameters. What is beyond is compared with the response to rounded weights.
USUAL = {torch.float64: (1e-6, 1e-9), torch.float32: (1e-2, 1e-4)}
USUAL_LOW = (0.2, 0.1)
# A unit at the edge goes to the other side in every second draw.
DRAWS, TIMES = 10, 10
FEWEST = 8

Gradients = dict[str, Tensor]


def check_gradients_apart(function: NetworkFunction, batch: Batch, values: Tensor) -> None:
    """Refuse a model whose gradients, for the first and the last examples of a batch, are others
    within the batch than alone. `values` are its outputs for the whole batch, with their graph."""
    n = len(batch)
    if n < 2:
        return
    few = 2 if n >= 4 else 1
    places = slice(0, few), slice(n - few, n)
    cotangent = torch.zeros_like(values)
    for place, rows in enumerate(places):
        cotangent[rows] += _drawn(values[rows], place)
    within = gradients(values, function.parameters, cotangent)
    check_alike(function, [batch[rows] for rows in places], within)


def check_alike(function: NetworkFunction, parts: Sequence[Batch], within: Gradients) -> None:
    """The gradient of a random sum of outputs of `parts`, each alone, must be that `within` a
    larger batch."""
    alone = _alone(function, parts)
    relative, of_all = USUAL.get(next(iter(alone.values())).dtype, USUAL_LOW)
    size = of_all * length(alone.values()) + 1e-30
    beyond = {
        name: difference
        for name, gradient in alone.items()
        if (difference := _distance(within[name], gradient)) > relative * _norm(gradient) + size
    }
    if not beyond:
        return
    most = dict.fromkeys(beyond, 0.0)
    draws = torch.Generator().manual_seed(0)
    for _ in range(DRAWS):
        moved = _alone(function, parts, rounded_weights(function, draws))
        most = {name: max(most[name], _distance(moved[name], alone[name])) for name in beyond}
    for name, difference in beyond.items():
        if difference > TIMES * most[name]:
            raise UserError(COUPLED.format(f"gradients for {name}"))


def _alone(
    function: NetworkFunction, parts: Sequence[Batch], weights: Mapping[str, Tensor] | None = None
) -> Gradients:
    """Of all parts together, at the model's weights or at others."""
    total: Gradients = {}
    for place, part in enumerate(parts):
        parameters: Mapping[str, Tensor] = function.parameters
        if weights is None:
            values = function(part)
        else:
            there = {name: value.requires_grad_() for name, value in weights.items()}
            parameters = {name: there[name] for name in parameters}
            values = function.select(function.with_parameters(there, part), part)
        for name, gradient in gradients(values, parameters, _drawn(values, place)).items():
            total[name] = total[name] + gradient if name in total else gradient
    return total


def _drawn(values: Tensor, place: int) -> Tensor:
    """A cotangent, another one for each part: equal ones would not see examples change places."""
    return drawn(values) * (1 - 1.5 * place)


def _norm(gradient: Tensor) -> float:
    return float(torch.linalg.vector_norm(gradient))


def _distance(one: Tensor, other: Tensor) -> float:
    return _norm(one - other)


def check_on_first(function: NetworkFunction, batch: Batch, block: int) -> None:
    """The checks on the first examples, for a request that is computed in blocks of `block`.

    With blocks of one example it would show nothing: every example then stands at the same place.
    """
    part = batch[: max(block, FEWEST)].to(function.device)
    moved = rearranged(function, part, torch.contiguous_format)
    if moved is None:
        return
    raw = function.raw(part)
    values = function.select(raw, part)
    assert isinstance(raw, Tensor)
    moved.check(function, part, raw.detach(), values.detach())
    check_gradients_apart(function, part, values)
