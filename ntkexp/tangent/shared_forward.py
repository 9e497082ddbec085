"""The estimate of the trace on a forward that a training step needs anyway."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.machine.gpus import sent
from ntkexp.tangent.batch import Batch, Inputs
from ntkexp.tangent.checks.independence import Check, check_independent
from ntkexp.tangent.checks.models import (
    coupling_modules,
    refuse_coupling,
    refuse_unsupported,
    trainable,
)
from ntkexp.tangent.factors.factor import Direct, Factor, merged
from ntkexp.tangent.factors.norms import norm_workspace, squared_norms
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.gradients.by_use import factors_by_use
from ntkexp.tangent.gradients.chain import chain_of, squared_length
from ntkexp.tangent.gradients.fallback import jacobians
from ntkexp.tangent.gradients.graph import moves_rows
from ntkexp.tangent.memory.available import Workspace, default_budget
from ntkexp.tangent.outputs import Outputs, chosen
from ntkexp.tangent.passes.calls import Call, parameterised, recorded, refuse_overwritten
from ntkexp.tangent.passes.guard import preserve_model_state
from ntkexp.tangent.passes.reference import (
    allowed,
    drawn,
    error,
    gradients,
    in_tf32,
    length,
)


def signs(like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Independent +-1 of the shape of `like`, drawn on the generator's device."""
    device = generator.device if generator is not None else like.device
    coins = torch.randint(0, 2, like.shape, generator=generator, device=device, dtype=like.dtype)
    return sent(coins.mul_(2).sub_(1), like.device)


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
    caller's own backward. The first call compares the layer rules with autograd, as does every call
    of a model whose operations may put its rows in another order. If the graph of the forward is a
    plain chain (gradients/chain.py), the first call also compares the chain's formula with the
    rules; from the second call on the chain alone is used, without hooks, for as long as the graph
    is one.
    """

    def __init__(self, model: nn.Module, outputs: Outputs = None, *, check: Check = True) -> None:
        refuse_unsupported(model)
        self.model, self.outputs, self.check = model, outputs, check
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

    def run(self, inputs: Inputs, generator: torch.Generator | None) -> Tensor:
        """Forward and estimate in one, for a caller with no use for the forward."""
        with self:
            raw = NetworkFunction(self.model, self.outputs).raw(Batch.of(inputs))
        return self.trace(raw, inputs, generator)

    def trace(self, raw: object, inputs: Inputs, generator: torch.Generator | None) -> Tensor:
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
        if first:
            with preserve_model_state(self.model, tf32=True):  # as the shared forward was computed
                check_independent(NetworkFunction(self.model, self.outputs), batch, self.check)
        if self._slow is None or moves_rows(values):  # may be another order in another batch
            self._slow = self._without_rule(values, cotangent, uses, slow)
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
        tolerance = {torch.float64: 1e-8, torch.float32: 1e-4}.get(values.dtype, 1e-2)
        tolerance = max(tolerance, 1e-2) if in_tf32(values) else tolerance
        self._chained = bool((of_chain - total).abs() <= tolerance * total.abs() + 1e-30)
        return of_chain if self._chained else total

    def _without_rule(
        self, values: Tensor, cotangent: Tensor, uses: dict[int, list[Factor]], slow: set[int]
    ) -> set[int]:
        """Ids of the parameters whose factors do not give the true gradient of this forward."""
        weights = drawn(values[:, :1].detach())  # one for each example
        with preserve_model_state(self.model):
            truth = gradients(values, self.parameters, weights * cotangent)
        size, wrong = length(truth.values()), set[int]()
        for name, parameter in self.parameters.items():
            key = id(parameter)
            if key in slow:
                continue
            if key not in uses:
                missing = float(torch.linalg.vector_norm(truth[name]))
            else:
                missing = error(merged(uses[key]), weights, truth[name])
            if missing > allowed(truth[name], size):
                wrong.add(key)
        return wrong
