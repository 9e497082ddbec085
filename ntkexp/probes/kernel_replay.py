"""The next steps of training as the tangent kernel of one step has them, by frequency; ours.

K = Phi D Phi^T with Adam's scales D, and its momentum (ntkexp/theory/spectral/replay.py), all in
float64. What training did is in the table `fourier` of the same run.

ntkexp train +exp=spectral/kernel
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.optim.base import Schedule
from ntkexp.options import BELOW_ONE, STEPS, count, each, not_negative, option, positive
from ntkexp.probes.base import Probe
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, int64
from ntkexp.tangent import layer_factors
from ntkexp.theory.spectral.dft import coefficients
from ntkexp.theory.spectral.replay import Step, edge, replay

KERNEL_REPLAY = Table(
    "kernel_replay",
    "the residual at one frequency as the frozen tangent kernel has it some steps later",
    {
        "step": STEP,
        "after": int64("further steps; 0 is the residual at this step"),
        "k": int64("frequency: oscillations over all points"),
        "residual": float64("|f~_k - y~_k|"),
        "edge": float64("rate times the largest eigenvalue of K, over the number of points"),
    },
)


@dataclass
class KernelReplay(Probe):
    """Looks at the steps `starts` alone. The rate, beta1, beta2 and epsilon must be those of
    optim=adam; for plain gradient descent beta1 is 0."""

    tables = (KERNEL_REPLAY,)
    needs = frozenset({"network", "layers", "examples", "optimiser", "training"})
    looks_at = frozenset()

    starts: list[int] = option([0], STEPS, "steps to replay from")
    after: list[int] = option([1, 10, 100], each(count("steps"), least=1), "how many steps later")
    frequencies: list[int] = option([], each(count("oscillations")), "oscillations to measure")
    lr: float = option(0.0003, positive(), "that of optim")
    beta1: float = option(0.9, BELOW_ONE, "that of optim, 0 for gradient descent")
    beta2: float = option(0.999, BELOW_ONE, "that of optim")
    epsilon: float = option(1e-8, not_negative(), "that of optim")

    def check(self, config: Any = None) -> None:
        plain = {"batch_size": None, "schedule": Schedule.constant, "weight_decay": 0.0}
        for name, value in plain.items():
            if (got := getattr(config.optim, name, value)) != value:
                raise UserError(
                    f"optim.{name}={got}: probe.kernel_replay replays full batches at one rate "
                    f"without decay; expected {'null' if value is None else value}"
                )
        adam = {name: getattr(config.optim, name, None) for name in ("beta1", "beta2", "epsilon")}
        descent = {"beta1": getattr(config.optim, "momentum", None)}
        hyperparameters = descent if adam["beta1"] is None else adam
        for name, value in {"lr": config.optim.lr, **hyperparameters}.items():
            if getattr(self, name) != value:
                raise UserError(f"probe.kernel_replay.{name}: expected optim's, {value}")
        if hyperparameters is adam and 0 in self.starts:
            raise UserError("probe.kernel_replay.starts: Adam has no scales at step 0")
        if hyperparameters is descent and self.beta1:
            raise UserError(
                f"probe.kernel_replay: replays gradient descent without momentum, got "
                f"optim.momentum={self.beta1:g}; expected 0 for it and for beta1"
            )

    def measure(self, view: View) -> Rows:
        if view.step not in self.starts:
            return {}
        at = self.frozen(view)
        residuals = np.stack([at.residual, *replay(at, self.after)])
        magnitudes = np.abs(coefficients(residuals))
        k = np.array(self.frequencies or range(1, magnitudes.shape[1]), dtype=int)
        k = k[k < magnitudes.shape[1]]
        return {
            "kernel_replay": {
                "after": np.repeat([0, *self.after], len(k)),
                "k": np.tile(k, len(residuals)),
                "residual": magnitudes[:, k].ravel(),
                "edge": edge(at),
            }
        }

    def frozen(self, view: View) -> Step:
        train = view.examples("train")
        network = copy.deepcopy(view.network()).double()
        inputs = train.inputs.double()
        with torch.no_grad():
            residual = network(inputs)[:, 0] - train.targets.double()
        memory = view.optimiser()
        names = [name for name, w in network.named_parameters() if w.requires_grad]
        scales, moved = self.scales(memory, names)
        kernel = torch.zeros(len(inputs), len(inputs), dtype=torch.float64)
        momentum = torch.zeros(len(inputs), dtype=torch.float64)
        for name, jacobian in jacobians(network, inputs):
            scale: Tensor | float = scales.get(name, 1.0)
            kernel += (jacobian * scale).cpu() @ jacobian.T.cpu()
            if name in moved:
                momentum += (jacobian @ (scale * moved[name])).cpu()
        return Step(
            kernel.numpy(),
            momentum.numpy(),
            residual.cpu().numpy(),
            self.lr,
            self.beta1,
            int(memory["updates"]),
        )

    def scales(self, memory: Any, names: list[str]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Adam's 1 / (sqrt(v^) + epsilon) and m by parameter, flat; nothing for other optimisers
        and before the first update."""
        updates = memory["updates"]
        if "square" not in memory or not updates:
            return {}, {}
        correction = 1 - self.beta2**updates
        scales = {
            name: 1 / ((part.double() / correction).sqrt() + self.epsilon).flatten()
            for name, part in zip(names, memory["square"], strict=True)
        }
        moved = {
            name: part.double().flatten() for name, part in zip(names, memory["mean"], strict=True)
        }
        return scales, moved


def jacobians(network: nn.Module, inputs: Tensor) -> Iterator[tuple[str, Tensor]]:
    """By parameter the gradients of the one output, (n, p)."""
    for factors in layer_factors(network, inputs).layers.values():
        for name, factor in factors.items():
            yield name, factor.jacobian()[:, 0]
