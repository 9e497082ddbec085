r"""Tangent kernels divided by a Fisher matrix, and their alignment with the labels.

ntkexp train +exp=curvature/preconditioned_vgg11

A step that is divided by a matrix changes the function as descent on another kernel would:

.. math:: K_\epsilon(x, z) = J(x) (F + \epsilon)^{-1} J(z)^T, \quad F = J_X^T J_X / n

of n training images X. On X the exact F gives n times \lambda / (\lambda + \epsilon) in the place
of each eigenvalue n \lambda of the kernel: what is learned fast and slowly becomes alike. Of the
exact one it is had from the kernel alone, by Woodbury's identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from ntkexp.curvature import fishers
from ntkexp.errors import UserError
from ntkexp.options import count, option
from ntkexp.probes.base import Probe, columns
from ntkexp.probes.representations import in_batches
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, string
from ntkexp.tangent import TangentFeatures
from ntkexp.theory.alignment import label_ckas

KINDS = ("diagonal", "kfac", "ekfac")
DAMPINGS = (1e-4, 1e-3, 1e-2, 1e-1)
TABLE = Table(
    "preconditioned_kernels",
    "a kernel J (F~ + damping)^-1 J^T with the labels of some images",
    {
        "step": STEP,
        "kind": string("what stands for F", choices=("exact", *KINDS)),
        "damping": float64("as a share of the largest eigenvalue of F"),
        "split": string("of the images: those of F, or others", choices=("train", "test")),
        "alignment": float64("centred, with the labels"),
    },
)


@dataclass
class PreconditionedKernels(Probe):
    """Looks at the first training and test images of a network with one output."""

    tables = (TABLE,)
    needs = frozenset({"network", "examples"})
    looks_at = frozenset()
    tiny: ClassVar = {"examples": 12, "held_out": 6}

    examples: int = option(300, count("examples"), "training images of the matrices")
    held_out: int = option(100, count("examples"), "test images")

    def measure(self, view: View) -> Rows:
        network = view.network()
        train, test = view.examples("train"), view.examples("test")
        x, z = train.inputs[: self.examples], test.inputs[: self.held_out]
        labels = {"train": train.targets[: len(x)], "test": test.targets[: len(z)]}
        gram = TangentFeatures(network).kernel(torch.cat([x, z]), layers=False).gram
        if len(gram) != len(x) + len(z):
            raise UserError(
                f"probe=preconditioned_kernels: the network has {len(gram) // (len(x) + len(z))} "
                "outputs; expected one, as with data=cifar2 objective=binary"
            )
        K = gram.double().cpu().numpy()
        largest = float(np.linalg.eigvalsh(K[: len(x), : len(x)])[-1]) / len(x)
        batches = in_batches(x, labels["train"])
        matrices = dict(zip(KINDS, fishers(network, batches, KINDS, of="l2"), strict=True))
        rows = []
        for share in DAMPINGS:
            damping = share * largest
            exact = divided(K, len(x), damping)
            kernels = {("exact", "train"): exact[: len(x), : len(x)]}
            kernels["exact", "test"] = exact[len(x) :, len(x) :]
            for kind, matrix in matrices.items():
                for split, images in (("train", x), ("test", z)):
                    kernel = matrix.kernel(images, images, damping)
                    kernels[kind, split] = kernel.double().cpu().numpy()
            rows += [
                (kind, share, split, alignment(kernel, labels[split]))
                for (kind, split), kernel in kernels.items()
            ]
        return {TABLE.name: columns(TABLE, rows)}


def divided(K: NDArray[np.float64], n: int, damping: float) -> NDArray[np.float64]:
    """J (F + damping)^-1 J^T of the exact F of the first n of the rows of K = J J^T."""
    first = K[:n]
    inner = np.linalg.solve(first[:, :n] + n * damping * np.eye(n), first)
    found: NDArray[np.float64] = (K - first.T @ inner) / damping
    return found


def alignment(kernel: NDArray[np.float64], targets: torch.Tensor) -> float:
    return label_ckas(kernel, targets.double().cpu().numpy().reshape(-1, 1))["class"]
