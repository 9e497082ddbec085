"""The alignment of the tangent kernel with its first eigenfunctions before and after training, and
whether it has changed along one axis.

ntkexp train +exp=linearised/mlp

    alpha_t(phi_j) = E phi_j(x) K_t(x, x') phi_j(x'),

over training images and over test images, apart; over all images alpha_0 is lambda_j (Ortiz-Jimenez
et al. 2021, section 4.2). A_T = V^T K_T V, V the eigenfunctions, is compared with A_0
(ntkexp/theory/linearised/one_axis.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ntkexp.data.eigenfunctions import Eigenfunctions
from ntkexp.errors import UserError
from ntkexp.options import count, option
from ntkexp.probes.adaptation import at
from ntkexp.probes.base import Measured, columns
from ntkexp.probes.initial_weights import RemembersStart
from ntkexp.probes.view import View
from ntkexp.references import FromRun
from ntkexp.results.table import STEP, Table, float64, int64, string
from ntkexp.tangent import tangent_kernel
from ntkexp.theory.linearised.one_axis import one_axis

SPLITS = ("train", "test")
ALIGNMENT = Table(
    "function_alignment",
    "alignment of the kernel with an eigenfunction of the first kernel, at the start and the end, "
    "on images of a split",
    {
        "step": STEP,
        "split": string("`train` or `test`", SPLITS),
        "index": int64("j of the eigenfunction, from 1"),
        "start": float64("alpha_0: mean of phi_j(x) K_0(x, x') phi_j(x')"),
        "end": float64("alpha_T, with the kernel of this step"),
        "trace_ratio": float64("tr K_T / tr K_0, the same for all j"),
    },
)
AXES = ("none", "labels", "other")
ONE_AXIS = Table(
    "one_axis",
    "what explains the kernel at the end: A_T by a A_0 + b c c^T, c of some labels",
    {
        "step": STEP,
        "split": string("`train` or `test`", SPLITS),
        "axis": string("`none` for b = 0, `labels` of the task, or `other`, of another task", AXES),
        "scale": float64("a"),
        "factor": float64("b, 0 without an axis"),
        "r_squared": float64("1 - |A_T - a A_0 - b c c^T|^2 / |A_T|^2"),
    },
)


@dataclass
class FunctionAlignment(RemembersStart):
    """Looks at the end, at the kernels of both moments. Only data=eigenfunctions has its images
    in the order of the eigenvectors."""

    tables = (ALIGNMENT, ONE_AXIS)
    needs = frozenset({"network", "examples", "training"})
    looks_at = frozenset()

    pairs: FromRun = option(FromRun(file="vectors.npy"), about="the run of study=eigenpairs")
    examples: int = option(10_000, count("examples"), "the first images of each split")
    other: int = option(10, count("as the place of an eigenfunction"), "the task of another axis")

    def check(self, config: Any = None) -> None:
        super().check(config)
        if not isinstance(config.data, Eigenfunctions) or self.pairs.run is None:
            raise UserError(
                f"probe.{self.name}: expected data=eigenfunctions, and the same run in "
                f"probe.{self.name}.pairs.run as in data.pairs.run"
            )

    def measure(self, view: View) -> Measured:
        self.remember(view)
        if not view.last:
            return {}
        network = view.network()
        first = at(network, self.start())
        alignments: list[tuple[object, ...]] = []
        axes: list[tuple[object, ...]] = []
        begins = 0
        for split in SPLITS:
            examples = view.examples(split)
            n = min(self.examples, len(examples))
            phi = self.functions(begins, n, begins + len(examples))
            begins += len(examples)
            inputs, targets = examples.inputs[:n], examples.targets[:n]
            (before, trace_before), (after, trace) = (
                projected(net, inputs, phi) for net in (first, network)
            )
            for j, (start, end) in enumerate(
                zip(before.diagonal().tolist(), after.diagonal().tolist(), strict=True), 1
            ):
                alignments.append((split, j, start, end, trace / trace_before))
            labels = 2.0 * targets.cpu().double() - 1
            for axis, y in zip(AXES, (None, labels, phi[self.other - 1].sign()), strict=True):
                c = None if y is None else (phi @ y / n).numpy()
                axes.append((split, axis, *one_axis(after.numpy(), before.numpy(), c)))
        return {
            ALIGNMENT.name: columns(ALIGNMENT, alignments),
            ONE_AXIS.name: columns(ONE_AXIS, axes),
        }

    def functions(self, start: int, n: int, stop: int) -> Tensor:
        """(k, n): phi_j on the first n images of a split, which has the columns start to stop."""
        vectors = self.pairs.array()
        if stop > vectors.shape[1]:
            raise UserError(f"{self.pairs.path} is about {vectors.shape[1]:,} images, not {stop:,}")
        if self.other > len(vectors):
            raise UserError(
                f"probe.{self.name}.other={self.other}: {self.pairs.path} has {len(vectors)} "
                "eigenfunctions"
            )
        part: Tensor = torch.from_numpy(vectors[:, start : start + n].copy()).double()
        return part.mul_(vectors.shape[1] ** 0.5)


@torch.no_grad()
def projected(network: nn.Module, inputs: Tensor, phi: Tensor) -> tuple[Tensor, float]:
    """A = Phi K Phi^T / n^2 (k, k) of functions (k, n), with their alignments on its diagonal, and
    the mean of K(x, x)."""
    with torch.enable_grad():
        gram = tangent_kernel(network, inputs, layers=False, check=False).gram
    functions = phi.to(gram)
    product = functions @ (gram @ functions.t()) / len(inputs) ** 2
    return product.double().cpu(), float(gram.diagonal().double().mean())
