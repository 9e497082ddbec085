"""Whether an output depends on its own example alone: found by rearranging the batch.

f_i(x_1, ..., x_n) must be f(x_i). The batch is cut into two random halves, each in an order that
moves every example to another place. An output that uses other examples, or the place of its
example, then changes, wherever in the batch that begins. What may change is rounding; where the
change is larger than usual, the network's own response to rounded weights decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median_low

import torch
from torch import Tensor

from ntkexp.errors import UserError
from ntkexp.tangent.batch import Batch
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.outputs import TAKE_INDICES, takes_indices

# Relative to the largest output. Between two orders of the batch the outputs of 155 small nets, of
# nine of torchvision's and of VGG19 differ by up to 5 units of rounding, those of a layer of 20,000
# inputs, or of 20 bias-free layers of 512 units in float64, by 15; what differs by more than usual
# is compared with the response to rounding.
USUAL = {torch.float64: 1e-13, torch.float32: 2e-6}
USUAL_LOW = 3e-2
# Weights are perturbed by this many units of rounding. The outputs of those nets then move at least
# five times as far as between two orders, those of the layer of 20,000 inputs as far. The median
# of several draws counts: in one draw a single output may hardly move, or a branch be the other.
UNITS, TIMES, DRAWS = 16, 2, 10

COUPLED = (
    "the model's {} for the same inputs differ between two calls: it is random, or couples the "
    "examples of a batch, or depends on their order; make it deterministic, or ask for "
    "batch_function=True"
)


@dataclass
class Rearranged:
    """Outputs of the same examples from a batch in another order: `rows` says which examples."""

    rows: Tensor
    raw: Tensor
    chosen: Tensor

    def check(self, function: NetworkFunction, batch: Batch, raw: Tensor, chosen: Tensor) -> None:
        """Refuse a model, or a choice of outputs, that gave something else for the whole batch."""
        rows = self.rows.to(raw.device)
        check_same(function, batch, self.raw, raw[rows])
        if not _same(function, batch, self.chosen, chosen[rows]):
            outputs = function.outputs
            hint = "" if callable(outputs) and takes_indices(outputs) else f"; {TAKE_INDICES}"
            raise UserError(
                f"outputs= depends on an example's place in the batch or on other examples{hint}"
            )


def rearranged(
    function: NetworkFunction, batch: Batch, layout: torch.memory_format
) -> Rearranged | None:
    """The outputs from a rearranged batch, at the cost of one forward; None for a single
    example, which cannot be rearranged."""
    if len(batch) < 2:
        return None
    raws, picked, rows = [], [], []
    for order in _orders(len(batch)):
        part = batch[order.to(batch.inputs.device)]
        raw = function.raw(part, layout)
        picked.append(function.select(raw, part).detach())
        assert isinstance(raw, Tensor)
        raws.append(raw.detach())
        rows.append(order)
    return Rearranged(torch.cat(rows), torch.cat(raws), torch.cat(picked))


def _orders(n: int) -> list[Tensor]:
    """Row numbers of parts of a batch of n; in each part none stands at its own place.

    >>> [order.tolist() for order in _orders(2)]    # one alone can be moved only to the front
    [[1, 0], [1]]
    """
    if n < 4:
        return [torch.arange(n).roll(-1), torch.arange(1, n)]
    draws = torch.Generator().manual_seed(n)  # not the caller's: same every time
    shuffled = torch.randperm(n, generator=draws)
    return [_moved(half, draws) for half in shuffled.chunk(2)]


def _moved(rows: Tensor, draws: torch.Generator) -> Tensor:
    while bool((rows == torch.arange(len(rows))).any()):
        rows = rows[torch.randperm(len(rows), generator=draws)]
    return rows


def check_same(function: NetworkFunction, batch: Batch, alone: Tensor, within: Tensor) -> None:
    """The model's outputs for the same inputs from two forwards must agree to rounding."""
    if not _same(function, batch, alone.detach(), within.detach()):
        raise UserError(COUPLED.format("outputs"))


def _same(function: NetworkFunction, batch: Batch, one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape:
        return False
    size = float(other.abs().max()) + 1e-30
    usual = _usual(other) * size
    difference = float((one - other).abs().max())
    if difference <= usual:
        return True
    return difference <= usual + TIMES * response_to_rounding(function, batch[:2])


def _usual(values: Tensor) -> float:
    if values.is_cuda and torch.backends.cuda.matmul.fp32_precision != "ieee":
        return 5e-3  # TF32, as a training step may use it
    return USUAL.get(values.dtype, USUAL_LOW)


def response_to_rounding(function: NetworkFunction, few: Batch) -> float:
    """How far the outputs move when every weight moves by a few units of rounding."""
    plain, again = function.raw(few), function.raw(few)
    assert isinstance(plain, Tensor) and isinstance(again, Tensor)
    if not torch.equal(plain, again):
        return 0.0  # it is random: no rounding explains anything
    draws, moved = torch.Generator().manual_seed(0), []
    for _ in range(DRAWS):
        raw = function.with_parameters(rounded_weights(function, draws), few)
        assert isinstance(raw, Tensor)
        moved.append(float((raw - plain).detach().abs().max()))
    return median_low(moved)


def rounded_weights(function: NetworkFunction, draws: torch.Generator) -> dict[str, Tensor]:
    """Every weight moved by a few units of rounding, at random."""
    moved = {}
    for name, parameter in function.model.named_parameters():
        noise = torch.randn(parameter.shape, generator=draws, dtype=torch.float64)
        eps = UNITS * torch.finfo(parameter.dtype).eps
        noise = (1 + eps * noise.to(parameter.device)) * parameter.detach().double()
        moved[name] = noise.to(parameter.dtype)
    return moved
