"""Tr K = sum_ic |grad_w f_w(x_i)[c]|^2, exactly or estimated by one backward."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.machine import sent
from ntkexp.tangent.batch import Batch, Inputs, Outputs, chosen
from ntkexp.tangent.factors import Direct, Factor, norm_workspace, squared_norms
from ntkexp.tangent.fallback import jacobians
from ntkexp.tangent.features import Findings, Reading
from ntkexp.tangent.function import (
    NetworkFunction,
    check_examples_independent,
    coupling_modules,
    refuse_coupling,
)
from ntkexp.tangent.independence import Check, check_independent
from ntkexp.tangent.memory import default_budget
from ntkexp.tangent.state import preserve_model_state
from ntkexp.tangent.tangent_features import TangentFeatures


def tangent_trace(
    model: nn.Module,
    inputs: Inputs,
    *,
    outputs: Outputs = None,
    estimate: Literal["signs"] | None = None,
    generator: torch.Generator | None = None,
    budget_bytes: int | None = None,
    check: Check = True,
) -> Tensor:
    """Tr K = sum_ic |grad_w f_ic|^2, a float64 scalar; no Gram matrix is formed.

    Args:
        estimate: None is exact, c backwards of activations and per-example norms.
            "signs" is sum_i |sum_c s_ic grad f_ic|^2 with random signs s_ic (Hutchinson, "A
            stochastic estimator of the trace of the influence matrix", 1989): unbiased, one
            backward. Only the c x c diagonal blocks of K enter its variance,
            2 sum_i sum_{c != c'} K_{ic,ic'}^2.
        generator: the source of the estimate's signs.
        check: as in `tangent_kernel`.

    >>> net = nn.Linear(1, 2, bias=False)
    >>> round(tangent_trace(net, torch.tensor([[2.0], [3.0]])).item(), 3)    # 2 (4 + 9)
    26.0
    """
    if estimate is None:
        features = TangentFeatures(model, outputs=outputs, budget_bytes=budget_bytes, check=check)
        return features.trace(inputs)
    if generator is None:
        raise UserError("an estimate needs a generator: its draws are not taken from torch's own")
    check_examples_independent(model)
    with preserve_model_state(model):
        return SharedForward(model, outputs, check=check).run(inputs, generator)


def signs(like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Independent +-1 of the shape of `like`, drawn on the generator's device."""
    device = generator.device if generator is not None else like.device
    coins = torch.randint(0, 2, like.shape, generator=generator, device=device, dtype=like.dtype)
    return sent(coins.mul_(2).sub_(1), like.device)


class SharedForward:
    """sum_i |sum_c s_ic grad f_ic|^2 with random signs, which estimates Tr K, on a forward the
    caller needs anyway, as in a training step.

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
    caller's own backward. The first call compares the rules with autograd, as does every call of a
    model whose operations may put its rows in another order.
    """

    def __init__(self, model: nn.Module, outputs: Outputs = None, *, check: Check = True) -> None:
        self._function, self._check = NetworkFunction(model, outputs), check
        self._couplers, self._findings = coupling_modules(model), Findings()

    def __enter__(self) -> SharedForward:
        refuse_coupling(self._couplers)
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def run(self, inputs: Inputs, generator: torch.Generator | None) -> Tensor:
        """Forward and estimate in one, for a caller with no use for the forward."""
        batch = Batch.of(inputs)
        with self:
            if self._findings.independent:
                return self._trace(self._function(batch), batch, generator)
            # A network that has not been looked at yet may draw random numbers.
            with preserve_model_state(self._function.model, tf32=True):
                return self._trace(self._function(batch), batch, generator)

    def trace(self, raw: object, inputs: Inputs, generator: torch.Generator | None) -> Tensor:
        """The estimate for the shared forward, in which the model returned `raw` for `inputs`."""
        batch = Batch.of(inputs)
        values = chosen(raw, self._function.outputs, batch.indices)
        return self._trace(values, batch, generator)

    def _trace(self, values: Tensor, batch: Batch, generator: torch.Generator | None) -> Tensor:
        function, findings = self._function, self._findings
        if not findings.independent:
            with preserve_model_state(function.model, tf32=True):  # as the forward was computed
                check_independent(function, batch, self._check)
            findings.independent = True
        cotangent = signs(values, generator)
        reading = Reading(function, batch, values, [cotangent], findings)
        factors: list[Factor] = [*reading.factors.values()]
        if reading.slow:
            with preserve_model_state(function.model, tf32=True):
                rows = jacobians(function, batch, reading.slow, default_budget(values.device))
            for row in rows.values():
                pulled = torch.einsum("nk,nkp->np", cotangent, row.values)
                factors.append(Direct(pulled.unsqueeze(1)))
        return squared_norms(factors, norm_workspace(values.detach()))
