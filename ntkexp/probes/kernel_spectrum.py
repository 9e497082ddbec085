"""The generalised spectrum of a network: its coefficients along the eigenvectors of a Gaussian
kernel on the training points (appendix A.1.4 of "On the Spectral Bias of Neural Networks").

ntkexp train -m +exp=spectral/kernel_noise
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from ntkexp.options import STEPS, option, positive
from ntkexp.probes.base import Probe
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, int64
from ntkexp.theory.float64 import Array
from ntkexp.theory.spectral.kernel_basis import basis

GROUPS = 50
KERNEL_SPECTRUM = Table(
    "kernel_spectrum",
    "the part of a mean square over the training points that a group of neighbouring eigenvectors "
    "of a Gaussian kernel holds",
    {
        "step": STEP,
        "n": int64("number of the group's last eigenvector, from 1, which has the largest value"),
        "network": float64("of the outputs"),
        "target": float64("of the targets"),
        "clean": float64("of the targets without noise"),
        "error": float64("of the outputs less the targets without noise"),
        "noise": float64("of the targets less those without noise"),
        "left": float64("of the outputs less the targets"),
    },
    notes="There are 50 groups, or one for each of fewer points; the parts sum to the mean square.",
)


@dataclass
class KernelSpectrum(Probe):
    """Looks at the steps `steps` alone, or at every look where none is named."""

    tables = (KERNEL_SPECTRUM,)
    needs = frozenset({"network", "examples"})
    looks_at = frozenset()

    width: float = option(1.0, positive(1e6), "of the kernel, over the median distance of points")
    steps: list[int] = option([], STEPS, "looks to measure; none: all")

    def __post_init__(self) -> None:
        self._vectors: Array | None = None

    def measure(self, view: View) -> Rows:
        if self.steps and view.step not in self.steps:
            return {}
        train = view.examples("train")
        if self._vectors is None:
            points = train.inputs.flatten(1).double().cpu().numpy()
            self._vectors = basis(points, self.width)
        with torch.no_grad():
            outputs = view.network()(train.inputs)[:, 0]
        f, y, clean = (
            values.double().cpu().numpy()
            for values in (outputs, train.targets, train.clean_targets)
        )
        functions = {"network": f, "target": y, "clean": clean, "error": f - clean,
                     "noise": y - clean, "left": f - y}  # fmt: skip
        edges = np.linspace(0, len(f), min(GROUPS, len(f)) + 1).astype(int)
        energies = {
            name: np.add.reduceat((values @ self._vectors) ** 2, edges[:-1]) / len(f)
            for name, values in functions.items()
        }
        return {"kernel_spectrum": {"n": edges[1:], **energies}}
