"""How well the linearisation generalises once it has interpolated: regression with the tangent
kernel of the first look.

ntkexp train +exp=linearised/separable --with-parents

    f(x) = f_0(x) + k(x, X) (K + s I)^-1 (y - f_0(X)),   y = -1 or 1,

K the kernel of all training examples: where gradient descent on the squared error ends. A linear
model that is only slow does better here than at the end of its training.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.machine import available_bytes, refuse_beyond
from ntkexp.objectives.evaluate import outputs_of
from ntkexp.options import option, positive
from ntkexp.probes.base import Measured, Probe
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Table, float64, string
from ntkexp.tangent.stored_factors import StoredFactors

KERNEL_REGRESSION = Table(
    "kernel_regression",
    "accuracy of regression with the tangent kernel of a step on all training examples",
    {"step": STEP, "split": string("`train` or `test`"), "accuracy": float64("from 0 to 1")},
)
SPLITS = ("train", "test")
ROWS = 1000


@dataclass
class KernelRegression(Probe):
    """Looks at the first step alone. Two classes and one output; it takes 8 n^2 bytes."""

    tables = (KERNEL_REGRESSION,)
    needs = frozenset({"network", "examples", "training"})
    looks_at = frozenset()

    ridge: float = option(1e-6, positive(), "s, in units of the mean of the kernel's diagonal")

    def check(self, config: Any = None) -> None:
        shape = config.data.shape()
        if shape is not None and shape.outputs != 1:
            raise UserError(f"probe.{self.name}: expected one output, there are {shape.outputs}")

    def measure(self, view: View) -> Measured:
        if view.step > 0:
            return {}
        splits = [view.examples(split) for split in SPLITS]
        accuracies = regression(
            view.network(), *((split.inputs, split.targets) for split in splits), ridge=self.ridge
        )
        return {"kernel_regression": {"split": list(SPLITS), "accuracy": accuracies}}


def regression(network: nn.Module, *splits: tuple[Tensor, Tensor], ridge: float) -> list[float]:
    """The accuracy on each split of the regression on the first; targets are 0 and 1."""
    inputs, targets = (torch.cat(tensors) for tensors in zip(*splits, strict=True))
    count = len(splits[0][0])
    refuse_beyond(f"{count:,} training examples", "their kernel", 16 * count**2, available_bytes())
    stored = StoredFactors.of(network, inputs)
    train = slice(0, count)
    gram = stored.gram(train, train).double()
    gram.diagonal().add_(ridge * gram.diagonal().mean())
    start = outputs_of(network, inputs)[:, 0].double()
    labels = 2.0 * targets.double() - 1
    factor = torch.linalg.cholesky(gram, out=gram)
    weights = torch.cholesky_solve((labels - start)[train, None], factor)[:, 0]
    outputs = [
        stored.gram(slice(at, min(at + ROWS, len(inputs))), train).double() @ weights
        for at in range(0, len(inputs), ROWS)
    ]
    right = (start + torch.cat(outputs)) * labels > 0
    return [float(part.double().mean()) for part in torch.split(right, [len(x) for x, _ in splits])]
