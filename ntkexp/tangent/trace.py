"""Tr K = sum_ic |grad_w f_w(x_i)[c]|^2, exactly or by one backward."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent.batch import Batch
from ntkexp.tangent.checks.independence import check_on_first, check_same
from ntkexp.tangent.checks.known import recall, remember
from ntkexp.tangent.checks.models import (
    check_examples_independent,
    coupling_modules,
    refuse_coupling,
    refuse_unsupported,
    trainable,
)
from ntkexp.tangent.checks.operations import Trace, keep_apart
from ntkexp.tangent.factors.factor import Direct, merged
from ntkexp.tangent.factors.norms import norm_workspace, squared_norms
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.gradients.by_use import factors_by_use
from ntkexp.tangent.gradients.chain import chain_of, squared_length, unit_vectors
from ntkexp.tangent.gradients.checked import CheckedFeatures, features
from ntkexp.tangent.gradients.fallback import jacobians
from ntkexp.tangent.memory.available import blocks, default_budget
from ntkexp.tangent.memory.workspace import Workspace
from ntkexp.tangent.outputs import Outputs, chosen
from ntkexp.tangent.passes.calls import Call, parameterised, recorded, refuse_overwritten
from ntkexp.tangent.passes.preserve import preserve_model_state
from ntkexp.tangent.passes.reference import first_few, reference_pass

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
    >>> round(tangent_trace(net, torch.tensor([[2.0], [3.0]])).item(), 3)    # 2 (4 + 9)
    26.0
    """
    check_examples_independent(model)
    if estimate is not None and estimate not in get_args(Estimate):
        raise UserError(f"estimate={estimate!r}: None, signs and hutchinson are accepted")
    if estimate is not None and generator is None:
        raise UserError("an estimate needs a generator: its draws are not taken from torch's own")
    batch = Batch.of(inputs)
    with preserve_model_state(model):
        function = NetworkFunction(model, outputs)
        if estimate == "hutchinson":
            return _hutchinson(function, batch, generator)
        if estimate == "signs":
            return SharedForward(model, outputs).run(batch.inputs, generator)
        return _exact(function, batch, budget_bytes)


def _exact(function: NetworkFunction, batch: Batch, budget_bytes: int | None) -> Tensor:
    of_chain = _exact_of_chain(function, batch, budget_bytes)
    if of_chain is not None:
        return of_chain
    features = CheckedFeatures(function, batch, budget_bytes)
    like = features.sizes.like
    workspace, total = norm_workspace(like), like.new_zeros((), dtype=torch.float64)
    parts = blocks(len(batch), features.sizes.bytes_per_example, features.budget_bytes)
    if len(parts) > 1:
        features.check_blocks(batch, parts[0].stop)
    for rows in parts:
        found = features.of(batch[rows], len(parts) == 1)
        factors = [factor for layer in found.layers.values() for factor in layer.values()]
        total += squared_norms(factors, workspace)
    return total


def _exact_of_chain(
    function: NetworkFunction, batch: Batch, budget_bytes: int | None
) -> Tensor | None:
    """The exact trace where every forward is a plain chain of linear layers, else None."""
    widths = []
    for module in parameterised(function.model).values():
        if type(module) is not nn.Linear:
            return None
        widths.append(module.out_features)
    weight = next(iter(function.parameters.values()))
    bytes_each = (2 + 3 * widths[-1]) * sum(widths) * weight.element_size()
    budget = budget_bytes or default_budget(function.device)
    parts = blocks(len(batch), bytes_each, budget)
    independent = _check_chain(function, batch, parts[0].stop)
    total = weight.new_zeros((), dtype=torch.float64)
    for rows in parts:
        guarded = len(batch[rows]) not in independent
        raw = function.raw(batch[rows], guarded=guarded)
        chain = chain_of(function.select(raw, batch[rows]), function.parameters.values())
        if chain is None:
            return None
        total += squared_length(chain, unit_vectors(chain))
    return total


def _check_chain(function: NetworkFunction, batch: Batch, block: int) -> set[int]:
    """Check that examples are independent, unless that is known; the sizes for which it is."""
    known = recall(function, batch)
    if known is not None and block in known.independent:
        return known.independent
    check_on_first(function, batch, block)
    few, first = first_few(batch[:block]), batch[:block]
    traces: tuple[Trace, Trace] = [], []
    alone = function.select(function.raw(few, trace=traces[0]), few, traces[0])
    within = function.select(function.raw(first, trace=traces[1]), first, traces[1])
    check_same(function, few, alone, within[: len(few)])
    known = None
    if keep_apart(*traces, len(few), len(first)):
        known = remember(function, batch, None)
    if known is None:
        return set()
    known.independent.add(block)
    return known.independent


def _hutchinson(
    function: NetworkFunction, batch: Batch, generator: torch.Generator | None
) -> Tensor:
    values = function(batch)
    grads = torch.autograd.grad(
        values, [*function.parameters.values()], signs(values, generator), allow_unused=True
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

    The estimate costs one backward of activations and the norms. The graph is left in place for the
    caller's own backward. The first call compares the layer rules with autograd on two examples. If
    the graph of the forward is a plain chain (gradients/chain.py), the first call also compares the
    chain's formula with the rules; from the second call on the chain alone is used, without hooks,
    for as long as the graph is one.
    """

    def __init__(self, model: nn.Module, outputs: Outputs = None) -> None:
        refuse_unsupported(model)
        self.model, self.outputs = model, outputs
        self.parameters = trainable(model)
        self._modules, self._couplers = parameterised(model), coupling_modules(model)
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
            raw = NetworkFunction(self.model, self.outputs).raw(Batch.of(inputs))
        if not isinstance(raw, Tensor):
            raise UserError(f"the model returns a {type(raw).__name__}; a tensor (n, c) is needed")
        return self.trace(raw, inputs, generator)

    def trace(self, raw: Tensor, inputs: Tensor, generator: torch.Generator | None) -> Tensor:
        """The estimate for the shared forward: `raw` is what the model returned for `inputs`."""
        batch = Batch.of(inputs)
        values = chosen(raw, self.outputs, batch.indices)
        cotangent = signs(values, generator)
        if not self._chained:
            return self._by_rules(values, batch, cotangent)
        chain = chain_of(values, self.parameters.values())
        if chain is not None:
            return squared_length(chain, cotangent)
        self._chained = False
        return self._by_rules(self._again(values, batch), batch, cotangent)

    def _again(self, values: Tensor, batch: Batch) -> Tensor:
        """The outputs of a second forward, recorded, in the place of one that was not."""
        with preserve_model_state(self.model, tf32=True), self._recording():
            again = NetworkFunction(self.model, self.outputs)(batch)
        # The same operations on the same numbers: closer than one step of training moves them.
        tolerance = 100 * torch.finfo(values.dtype).eps
        error = torch.linalg.vector_norm(again.detach() - values.detach())
        if error > tolerance * torch.linalg.vector_norm(values.detach()):
            raise UserError(
                "the model's outputs for the same inputs are no longer those of the shared "
                "forward: ask for the trace before the weights or the inputs change"
            )
        return again

    def _by_rules(self, values: Tensor, batch: Batch, cotangent: Tensor) -> Tensor:
        """From the recorded calls, whatever the model is made of."""
        calls, self._calls = self._calls, []
        refuse_overwritten(calls)
        uses, slow, _ = factors_by_use(values, calls, self.parameters, [cotangent])
        first = self._slow is None
        if self._slow is None:
            self._slow = self._without_rule(values, batch)
        slow |= self._slow
        workspace = self._workspace = self._workspace or norm_workspace(values.detach())
        factors = [merged(found) for key, found in uses.items() if key not in slow]
        names = [name for name, p in self.parameters.items() if id(p) in slow]
        if names:
            with preserve_model_state(self.model, tf32=True):
                function = NetworkFunction(self.model, self.outputs)
                budget = default_budget(values.device)
                for rows in jacobians(function, batch, names, budget).values():
                    pulled = torch.einsum("nk,nkp->np", cotangent, rows.values)
                    factors.append(Direct(pulled.unsqueeze(1)))
        total = squared_norms(factors, workspace)
        return self._compared_with_chain(total, values, cotangent) if first else total

    def _compared_with_chain(self, total: Tensor, values: Tensor, cotangent: Tensor) -> Tensor:
        """The chain's estimate, if there is a chain and it agrees with the rules' total.

        From now on the chain is used, and this first time it must be as well: a resumed run begins
        with a first time, and has to write the same digits as a run that was not interrupted.
        """
        chain = chain_of(values, self.parameters.values())
        if chain is None:
            return total
        of_chain = squared_length(chain, cotangent)
        tolerance = 1e-8 if values.dtype == torch.float64 else 1e-4
        self._chained = bool((of_chain - total).abs() <= tolerance * total.abs() + 1e-30)
        return of_chain if self._chained else total

    def _without_rule(self, values: Tensor, batch: Batch) -> set[int]:
        """Ids of the parameters whose factors do not give the true gradient of two examples."""
        function = NetworkFunction(self.model, self.outputs)
        with preserve_model_state(self.model, tf32=True):  # as the shared forward was computed
            check_on_first(function, batch, len(batch))
            again = function(batch).detach()
            check_same(function, batch, again, values)
        with preserve_model_state(self.model):
            few = batch[:2]
            reference = reference_pass(function, few)
            budget = default_budget(values.device)
            found, _ = features(function, few, reference, budget, check_examples=False)
        return {id(self.parameters[name]) for name in found.fallback}
