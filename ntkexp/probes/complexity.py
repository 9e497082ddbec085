"""The complexity of a training run, equation (18): C = sum_t |dw_t|_2 |Phi_t|_F.

|Phi_t|_F = sqrt(Tr K_t) of the uncentred features at w_t, on the fixed training batch; dw_t is the
change that momentum SGD really makes in iteration t. The sum is over iterations, not over the
steps of the probe schedule.

The estimate replaces Tr K_t by sum_i |Phi(x_i)^T v_i|^2 with fresh signs v_i in {-1, 1}^c at every
iteration. It is unbiased for Tr K_t; its square root is low by CV^2 / 8, CV being the relative
spread of one draw, and over T iterations the spread of C falls as 1 / sqrt(T). Measured on whole
runs: docs/reproduction.md, Figure 6.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.optim.observer import Forward
from ntkexp.options import count, option
from ntkexp.probes.base import Probe, Update
from ntkexp.results.table import STEP, Rows, Table, float64
from ntkexp.seeds import generator
from ntkexp.tangent import SharedForward, TangentFeatures

COMPLEXITY = Table(
    "complexity",
    "one watched iteration, at the weights before its update: the norm of the update, the trace "
    "of the uncentred tangent kernel, and the running sum C of equation (18), this iteration "
    "included",
    {
        "step": STEP,
        "step_norm": float64("|dw| of the update, in units of weight"),
        "trace": float64("Tr K over the examples of the batch, not divided by their number"),
        "complexity": float64("C up to here, iteration included"),
    },
)


class Mode(StrEnum):
    exact = "exact"
    estimate = "estimate"


class On(StrEnum):
    """fixed: the training batch of the probes. minibatch: the minibatch of the iteration."""

    fixed = "fixed"
    minibatch = "minibatch"


@dataclass
class Complexity(Probe):
    """`every: k` looks at every k-th iteration, which then stands for k of them.

    `batch: minibatch` shares the forward of training; the sum is then over the features of other
    examples at every iteration.
    """

    tables = (COMPLEXITY,)
    needs = frozenset({"updates"})

    every: int = option(1, count("iterations"), "iterations for each that is looked at")
    mode: Mode = option(Mode.estimate, about="the trace by random signs, or exactly")
    batch: On = option(On.fixed, about="features of fixed examples, or of the minibatch")

    def __post_init__(self) -> None:
        self._sum: Tensor | None = None
        self._shared: SharedForward | None = None
        self._features: TangentFeatures | None = None
        self._measured: Tensor | None = None

    def check(self, config: Any = None) -> None:
        if self.batch is On.fixed:
            return
        if self.mode is Mode.exact:
            raise UserError(
                "probe.complexity.batch=minibatch: shares the forward of training with the "
                "estimate, got mode=exact; expected mode=estimate"
            )
        if config.model.couples_examples():
            raise UserError(
                f"probe.complexity.batch=minibatch: model={config.model.name} has batch "
                "normalisation, which couples the examples of a training batch; expected "
                "batch=fixed or model.norm=none"
            )

    def batches(self) -> frozenset[str]:
        return frozenset({"train"} if self.batch is On.fixed else ())

    def watches(self, step: int) -> bool:
        return step % self.every == 0

    def sees_forward(self) -> bool:
        return self.batch is On.minibatch

    def around_forward(self, model: nn.Module) -> AbstractContextManager[object]:
        return nullcontext() if self.batch is On.fixed else self._estimator(model)

    def on_forward(self, forward: Forward) -> None:
        if self.batch is On.minibatch:
            self._measured = self._estimator(forward.model).trace(
                forward.outputs, forward.inputs, _signs(forward)
            )

    def before_update(self, update: Update) -> Rows:
        trace, step_norm = self._trace(update), update.step_norm.double()
        before = self._total().to(trace.device)
        self._sum = torch.addcmul(before, step_norm, trace.sqrt(), value=self.every)
        return {"complexity": {"step_norm": step_norm, "trace": trace, "complexity": self._sum}}

    def state(self) -> dict[str, Any]:
        return {"sum": self._total()}

    def restore(self, state: dict[str, Any]) -> None:
        self._sum = state["sum"]

    def _total(self) -> Tensor:
        """The running sum; zero before the first iteration."""
        return torch.zeros((), dtype=torch.float64) if self._sum is None else self._sum

    def _trace(self, update: Update) -> Tensor:
        if self._measured is not None:
            trace, self._measured = self._measured, None
            return trace
        inputs = update.batches["train"].inputs
        if self.mode is Mode.exact:
            if self._features is None:
                self._features = TangentFeatures(update.model)
            return update.kernel_factor * self._features.trace(inputs)
        return update.kernel_factor * self._estimator(update.model).run(inputs, _signs(update))

    def _estimator(self, model: nn.Module) -> SharedForward:
        """One estimator for the whole run: it checks its fast rules by a true gradient once."""
        if self._shared is None:
            self._shared = SharedForward(model)
        return self._shared


def _signs(moment: Forward | Update) -> torch.Generator:
    return generator(moment.seed, "complexity", moment.step)
