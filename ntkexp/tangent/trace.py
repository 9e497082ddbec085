"""Tr K = sum_ic |grad_w f_w(x_i)[c]|^2, exactly or by one backward."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent.calls import Call, parameterised, recorded, refuse_overwritten
from ntkexp.tangent.chain import chain_of, squared_length, unit_vectors
from ntkexp.tangent.factors import Direct, merged
from ntkexp.tangent.fallback import jacobians
from ntkexp.tangent.features import features, receive
from ntkexp.tangent.memory import blocks, default_budget
from ntkexp.tangent.norms import norm_workspace, squared_norms
from ntkexp.tangent.outputs import Outputs, chosen
from ntkexp.tangent.refusals import (
    couplers,
    refuse_coupled,
    refuse_coupling,
    refuse_empty,
    trainable,
)
from ntkexp.tangent.rehearsal import close, first_few, refuse_difference, rehearse
from ntkexp.tangent.untouched import untouched
from ntkexp.tangent.workspace import Workspace

Estimate: TypeAlias = Literal["signs", "hutchinson"]


def tangent_trace(
    model: nn.Module,
    inputs: Tensor,
    *,
    outputs: Outputs = None,
    estimate: Estimate | None = None,
    generator: torch.Generator | None = None,
    budget_bytes: int | None = None,
) -> Tensor:
    """The trace of the tangent kernel, a float64 scalar; no Gram matrix is formed.

    estimate None: exact, c backwards of activations and per-example norms.
    "signs":      sum_i |sum_c s_ic grad f_ic|^2 with random signs s_ic: unbiased, one backward.
                  Only the c x c diagonal blocks of K enter its variance, 2 sum_i sum_{c != c'} K^2.
    "hutchinson": |Phi^T s|^2, one ordinary backward; every off-diagonal entry enters.

    >>> net = nn.Linear(1, 2, bias=False)
    >>> tangent_trace(net, torch.tensor([[2.0], [3.0]])).item()    # 2 (4 + 9)
    26.0
    """
    parameters = trainable(model)
    refuse_coupled(model)
    if estimate is not None and estimate not in get_args(Estimate):
        raise UserError(f"estimate={estimate!r}: None, signs and hutchinson are accepted")
    if estimate is not None and generator is None:
        raise UserError("an estimate needs a generator: its draws are not taken from torch's own")
    refuse_empty(inputs)
    with untouched(model):
        if estimate == "hutchinson":
            return _hutchinson(model, inputs.detach(), outputs, parameters, generator)
        if estimate == "signs":
            return SharedForward(model, outputs).run(inputs.detach(), generator)
        return _exact(model, inputs.detach(), outputs, parameters, budget_bytes)


def _exact(
    model: nn.Module,
    inputs: Tensor,
    outputs: Outputs,
    parameters: dict[str, nn.Parameter],
    budget_bytes: int | None,
) -> Tensor:
    read = _off_chain(model, inputs, outputs, parameters, budget_bytes)
    if read is not None:
        return read
    first = rehearse(model, inputs, outputs, parameters)
    workspace = norm_workspace(first.values)
    total = first.values.new_zeros((), dtype=torch.float64)
    budget = budget_bytes or default_budget(first.values.device)
    for part in blocks(len(inputs), first.bytes_per_example, budget):
        whole = len(inputs[part]) == len(inputs)
        rehearsal = first if whole else rehearse(model, inputs[part], outputs, parameters)
        found = features(model, inputs[part], outputs, parameters, rehearsal)
        factors = [factor for layer in found.layers.values() for factor in layer.values()]
        total += squared_norms(factors, workspace)
    return total


def _off_chain(
    model: nn.Module,
    inputs: Tensor,
    outputs: Outputs,
    parameters: dict[str, nn.Parameter],
    budget_bytes: int | None,
) -> Tensor | None:
    """The exact trace where every forward is a plain chain of linear layers, else None."""
    widths = []
    for module in parameterised(model).values():
        if type(module) is not nn.Linear:
            return None
        widths.append(module.out_features)
    few = first_few(inputs)
    alone = chosen(model(few), outputs, len(few))
    k = alone.shape[1]
    bytes_each = (2 * sum(widths) + 3 * k * max(widths)) * alone.element_size()
    total = alone.new_zeros((), dtype=torch.float64)
    budget = budget_bytes or default_budget(alone.device)
    for part in blocks(len(inputs), bytes_each, budget):
        values = chosen(model(inputs[part].clone()), outputs, len(inputs[part]))
        if part.start == 0:
            refuse_difference(alone, values)
        chain = chain_of(values, parameters.values())
        if chain is None:
            return None
        total += squared_length(chain, unit_vectors(chain))
    return total


def _hutchinson(
    model: nn.Module,
    inputs: Tensor,
    outputs: Outputs,
    parameters: dict[str, nn.Parameter],
    generator: torch.Generator | None,
) -> Tensor:
    values = chosen(model(inputs.clone()), outputs, len(inputs))
    grads = torch.autograd.grad(
        values, list(parameters.values()), signs(values, generator), allow_unused=True
    )
    squares = [torch.linalg.vector_norm(grad).double() ** 2 for grad in grads if grad is not None]
    return torch.stack(squares).sum()


def signs(like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Independent +-1 of the shape of `like`, drawn on the generator's device."""
    device = generator.device if generator is not None else like.device
    coins = torch.randint(0, 2, like.shape, generator=generator, device=device, dtype=like.dtype)
    return coins.mul_(2).sub_(1).to(like.device)


class SharedForward:
    """The sign estimate on a forward the caller needs anyway, as in a training step.

    >>> net = nn.Linear(2, 2, bias=False)
    >>> optimiser, draws = torch.optim.SGD(net.parameters(), 0.1), torch.Generator()
    >>> shared, x, y = SharedForward(net), torch.ones(4, 2), torch.zeros(4, dtype=torch.long)
    >>> with shared:
    ...     logits = net(x)
    >>> trace = shared.trace(logits, x, draws)           # exact here: one layer, orthogonal rows
    >>> nn.functional.cross_entropy(logits, y).backward()
    >>> round(trace.item(), 4)
    16.0

    The estimate costs one backward of activations and the norms. The graph is left in place for
    the caller's own backward. The first time the fast rules are held against a true gradient, and
    if the graph is a plain chain (chain.py), what is read off it is held against the rules; from
    then on the chain serves for as long as the graph is one, and the forward goes unrecorded.
    """

    def __init__(self, model: nn.Module, outputs: Outputs = None) -> None:
        self.model, self.outputs = model, outputs
        self.parameters = trainable(model)
        self._modules, self._couplers = parameterised(model), couplers(model)
        self._calls: list[Call] = []
        self._slow: set[int] | None = None
        self._chained = False
        self._workspace: Workspace | None = None

    @contextmanager
    def _recording(self) -> Iterator[None]:
        with recorded(self._modules) as calls:
            yield
        self._calls = calls

    def __enter__(self) -> SharedForward:
        refuse_coupling(self._couplers)
        self._open = nullcontext() if self._chained else self._recording()
        self._open.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._open.__exit__(*error)  # type: ignore[arg-type]

    def run(self, inputs: Tensor, generator: torch.Generator | None) -> Tensor:
        """Forward and estimate in one, for a caller with no use for the forward."""
        with self:
            raw = self.model(inputs.clone())
        return self.trace(raw, inputs, generator)

    def trace(self, raw: Tensor, inputs: Tensor, generator: torch.Generator | None) -> Tensor:
        """The estimate for the shared forward: `raw` is what the model returned for `inputs`."""
        values = chosen(raw, self.outputs, len(inputs))
        cotangent = signs(values, generator)
        if not self._chained:
            return self._by_rules(values, inputs, cotangent)
        chain = chain_of(values, self.parameters.values())
        if chain is not None:
            return squared_length(chain, cotangent)
        self._chained = False
        return self._by_rules(self._again(values, inputs), inputs, cotangent)

    def _again(self, values: Tensor, inputs: Tensor) -> Tensor:
        """The outputs of a second forward, recorded, in the place of one that was not."""
        with untouched(self.model, tf32=True), self._recording():
            again = chosen(self.model(inputs.clone()), self.outputs, len(inputs))
        # The same operations on the same numbers: closer than one step of training moves them.
        tolerance = 100 * torch.finfo(values.dtype).eps
        error = torch.linalg.vector_norm(again.detach() - values.detach())
        if error > tolerance * torch.linalg.vector_norm(values.detach()):
            raise UserError(
                "the model's outputs for the same inputs are no longer those of the shared "
                "forward: ask for the trace before the weights or the inputs change"
            )
        return again

    def _by_rules(self, values: Tensor, inputs: Tensor, cotangent: Tensor) -> Tensor:
        """From the recorded calls, whatever the model is made of."""
        calls, self._calls = self._calls, []
        refuse_overwritten(calls)
        uses, slow = receive(values, calls, self.parameters, [cotangent])
        first = self._slow is None
        if self._slow is None:
            self._slow = self._distrusted(values, inputs)
        slow |= self._slow
        workspace = self._workspace = self._workspace or norm_workspace(values.detach())
        factors = [merged(found) for key, found in uses.items() if key not in slow]
        names = [name for name, p in self.parameters.items() if id(p) in slow]
        for rows in jacobians(self.model, inputs, self.outputs, names).values():
            pulled = torch.einsum("nk,nkp->np", cotangent, rows.values)
            factors.append(Direct(pulled.unsqueeze(1)))
        total = squared_norms(factors, workspace)
        return self._held_against(total, values, cotangent) if first else total

    def _held_against(self, total: Tensor, values: Tensor, cotangent: Tensor) -> Tensor:
        """What the chain gives, if there is one and it agrees with the rules' total.

        It is the chain's number that counts then, this first time as well: a resumed run begins
        with a first time, and must write the same digits as one that went through.
        """
        chain = chain_of(values, self.parameters.values())
        if chain is None:
            return total
        read = squared_length(chain, cotangent)
        self._chained = close(read.to(values.dtype), total.to(values.dtype))  # as exact as it is
        return read if self._chained else total

    def _distrusted(self, values: Tensor, inputs: Tensor) -> set[int]:
        """Ids of the parameters whose pieces do not give the true gradient of two examples."""
        few = inputs[:2].detach()
        with untouched(self.model):
            rehearsal = rehearse(self.model, few, self.outputs, self.parameters)
            rehearsal.refuse_difference(values)
            found = features(self.model, few, self.outputs, self.parameters, rehearsal)
        return {id(self.parameters[name]) for name in found.fallback}
