"""The check that each output is a function of its own example alone.

A batch is cut into two random halves, each in another order: an output that uses another example,
its place or the size of the batch comes out differently. The weights are moved a little for that:
then no gate and no last layer is zero and hides it. What differs by more than LIMIT is computed
again in float64, where rounding is smaller by 5e8 and a use of other examples is not.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from typing import Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor

from ntkexp.errors import UserError
from ntkexp.tangent.batch import TAKE_INDICES, Batch, takes_indices
from ntkexp.tangent.function import FAILURES, NetworkFunction
from ntkexp.tangent.state import Watch, random_states

Check: TypeAlias = bool | Literal["warn"]

# The largest difference that is allowed, relative to the largest output; and the one up to which
# rounding may explain it where the model cannot be computed in float64.
LIMIT, LIMIT_IN_DOUBT = 1e-6, 1e-2
# How many examples of a batch are looked at, at least (if it has them) and at most; and by which
# part of their size weights are moved.
FEWEST, ROWS, MOVED = 8, 16, 0.03
# Of fewer examples a second look would leave out too many.
LEAST = 4
DRAWN = 2**16 + 1
RANDOM = "it is random; make it deterministic, ask for batch_function=True"


_inside: ContextVar[tuple[Check, str]] = ContextVar("check", default=(True, "check=False"))


@contextmanager
def checking(check: Check, way_past: str) -> Iterator[None]:
    """Take `check=True` for `check` inside; `way_past` is how somebody refused may go on."""
    token = _inside.set((check, way_past))
    try:
        yield
    finally:
        _inside.reset(token)


class Fault(NamedTuple):
    """A line that says what is wrong; `certain`, when rounding cannot explain it."""

    line: str
    certain: bool


def check_independent(
    function: NetworkFunction, batch: Batch, check: Check = True, rows: int = ROWS
) -> bool | None:
    """Refuse a function that is random or couples the examples of a batch; "warn" only warns.

    It takes two forwards of the first `rows` examples. One example alone shows nothing: None, as
    where nobody asks; else True where nothing was found.
    """
    check, way_past = asked(check)
    if check is False or len(batch) < 2:
        return None
    part = batch[: max(FEWEST, min(rows, ROWS))].to(function.device)
    try:
        fault = Trial(function, part, moved(function)).fault()
    except FAILURES:  # weights that the model cannot have, as a matrix that must be positive
        fault = Trial(function, part, {}).fault()
    if fault is None:
        return True
    if fault.certain and check is True:
        raise UserError(f"{fault.line}, or go on with {way_past}")
    warnings.warn(fault.line, stacklevel=2)
    return False


def asked(check: Check) -> tuple[Check, str]:
    """What is asked for here, and how somebody refused may go on."""
    if not (isinstance(check, bool) or check == "warn"):
        raise UserError(f"check={check!r}: True, False and 'warn' are accepted")
    usual, way_past = _inside.get()
    return usual if check is True else check, way_past


class Again:
    """A second look at a function whose examples were found not to interact: half of them in a
    batch, each in another place. Of what differs `check_independent` has to say what it is.
    """

    def __init__(self, function: NetworkFunction, batch: Batch) -> None:
        self.device, self.outputs = function.device, None
        self.before = random_states(self.device)
        if len(batch) >= LEAST:
            self.rows = elsewhere(len(batch)).to(batch.indices.device)
            with suppress(UserError):
                self.outputs = function(batch[self.rows]).detach()

    def agrees(self, values: Tensor) -> bool:
        """True where the outputs of the whole batch are those of the smaller one."""
        after = random_states(self.device)
        if self.outputs is None or not all(map(torch.equal, self.before, after)):
            return False
        wanted = values.detach()[self.rows.to(values.device)]
        return _difference(self.outputs, wanted) <= LIMIT


def gates_open(function: NetworkFunction, gates: Iterable[str]) -> bool:
    """False where a weight is zero that hides what goes on before it."""
    weights = [p.detach() for name in gates if (p := function.parameters.get(name)) is not None]
    return not weights or bool(torch.stack(torch._foreach_norm(weights)).all())


@cache
def elsewhere(n: int) -> Tensor:
    """Half of the rows of a batch of n, FEWEST at most, each in another place than its own."""
    draws = torch.Generator().manual_seed(n)
    return _displaced(torch.randperm(n, generator=draws)[: min(n // 2, FEWEST)], draws)


class Trial:
    """The outputs of one batch, with other tensors in the place of some weights."""

    def __init__(
        self,
        function: NetworkFunction,
        batch: Batch,
        weights: Mapping[str, Tensor],
        double: bool = False,
    ) -> None:
        self.function, self.batch, self.weights, self.double = function, batch, weights, double
        self.watch = Watch(function.model)
        self.whole = self._outputs(batch)
        self.drew = self.watch.drew

    def fault(self) -> Fault | None:
        # Dropout of one unit in a thousand seldom shows by itself.
        if self.drew:
            self.watch.stirred = True
            if _difference(self._outputs(self.batch), self.whole) > LIMIT:
                return Fault(f"{self.drew} draws random numbers: {RANDOM}", True)
            self.watch.stirred = False
        difference = self.coupling()
        if difference <= LIMIT:
            return None
        trial, in_doubt = self, False
        if self.whole.dtype != torch.float64:
            try:
                trial = Trial(self.function, self.batch, self.weights, double=True)
                difference, in_doubt = trial.coupling(), trial.watch.coarse
            except FAILURES:  # the model makes tensors of a type of its own
                trial, in_doubt = self, True
        if difference <= LIMIT:
            return None
        return Fault(trial.cause(), not in_doubt or difference > LIMIT_IN_DOUBT)

    def coupling(self) -> float:
        """The distance of the outputs of the halves from those of the whole batch."""
        halves = [order.to(self.whole.device) for order in orders(len(self.batch))]
        outputs = torch.cat([self._outputs(self.batch[half]) for half in halves])
        return _difference(outputs, self.whole[torch.cat(halves)])

    def cause(self) -> str:
        """The line that names the cause: chance, the choice of outputs, or the model itself."""
        if _difference(self._outputs(self.batch), self.whole) > LIMIT:
            return f"the outputs of two forwards of the same inputs differ: {RANDOM}"
        outputs = self.function.outputs
        if callable(outputs):
            model = NetworkFunction(self.function.model)
            with suppress(*FAILURES):
                if Trial(model, self.batch, self.weights, self.double).coupling() <= LIMIT:
                    hint = "" if takes_indices(outputs) else f"; {TAKE_INDICES}"
                    return (
                        "outputs= depends on an example's place in the batch or on other "
                        f"examples{hint}"
                    )
        return (
            "the model couples the examples of a batch, or depends on their order or number: "
            "ask for batch_function=True"
        )

    def _outputs(self, batch: Batch) -> Tensor:
        return self.function.at(self.weights, batch, self.watch, double=self.double)


def orders(n: int) -> list[Tensor]:
    """Row numbers of the two halves of a batch of n; in each, none stands at its own place.

    >>> [order.tolist() for order in orders(2)]    # one alone can be moved only to the front
    [[1, 0], [1]]
    """
    if n < 4:
        return [torch.arange(n).roll(-1), torch.arange(1, n)]
    draws = torch.Generator().manual_seed(n)  # not the caller's: same every time
    shuffled = torch.randperm(n, generator=draws)
    return [_displaced(half, draws) for half in shuffled.chunk(2)]


def _displaced(rows: Tensor, draws: torch.Generator) -> Tensor:
    while bool((rows == torch.arange(len(rows))).any()):
        rows = rows[torch.randperm(len(rows), generator=draws)]
    return rows


def moved(function: NetworkFunction) -> dict[str, Tensor]:
    """Trainable weights plus noise, a small part of their own size; zeros get that of their
    layer's usual weights, 1 / sqrt(fan-in)."""
    draws, weights = torch.Generator().manual_seed(0), {}
    for name, weight in function.parameters.items():
        count = weight.numel()
        # Drawing numbers for a hundred million weights would take longer than all else.
        noise = torch.randn(min(count, DRAWN), generator=draws).to(weight.device, weight.dtype)
        noise = noise.repeat(-(-count // DRAWN))[:count].view(weight.shape)
        fan_in = weight[0].numel() if weight.dim() > 1 else 1
        size = float(torch.linalg.vector_norm(weight.detach())) / max(1, count) ** 0.5
        weights[name] = torch.add(weight.detach(), noise, alpha=MOVED * (size or fan_in**-0.5))
    return weights


def _difference(outputs: Tensor, wanted: Tensor) -> float:
    """The largest difference, relative to the largest of the numbers wanted."""
    if outputs.shape != wanted.shape:
        return float("inf")
    return float((outputs.double() - wanted.double()).abs().max() / (wanted.abs().max() + 1e-300))
