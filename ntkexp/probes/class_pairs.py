"""The kernel of two classes, and its principal components; Figure 3.7 of George's thesis.

ntkexp train +exp=curvature/representations_resnet18

Of the function f_b - f_a the tangent kernel G on test images of the classes a and b, as
G_ij / sqrt(G_ii G_jj); and the images on the first two components of kernel PCA of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ntkexp.errors import UserError
from ntkexp.options import count, option
from ntkexp.probes.base import Probe, columns
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float32, float64, int64
from ntkexp.tangent import TangentFeatures

COMPONENTS = Table(
    "class_pair_components",
    "a test image on the first two principal components of the kernel of two classes",
    {
        "step": STEP,
        "pair": int64("number k of the two classes, 2 k and 2 k + 1"),
        "label": int64("0 of the first class, 1 of the second"),
        "first": float64("on the first component"),
        "second": float64("on the second component"),
    },
)
ACCURACY = Table(
    "class_pair_accuracy",
    "images on the right side of the line by least squares in the plane of both components",
    {
        "step": STEP,
        "pair": int64("number k of the two classes, 2 k and 2 k + 1"),
        "accuracy": float64("share of the images"),
    },
)
KERNEL = Table(
    "class_pair_kernel",
    "an entry of the normalised kernel of the first pair, images of its first class first",
    {
        "step": STEP,
        "row": int64("number of an image"),
        "column": int64("number of another"),
        "value": float32("G_ij / sqrt(G_ii G_jj)"),
    },
)


@dataclass
class ClassPairs(Probe):
    """Looks at `examples` test images of each class, those of the first class first."""

    tables = (COMPONENTS, ACCURACY, KERNEL)
    needs = frozenset({"network", "examples"})
    looks_at = frozenset()
    tiny: ClassVar = {"examples": 3, "pairs": 1}

    pairs: int = option(5, count("pairs", most=500), "of classes: 0 and 1, 2 and 3, and on")
    examples: int = option(50, count("images"), "of each class")

    def measure(self, view: View) -> Rows:
        rows: list[tuple[object, ...]] = []
        accuracies: list[tuple[object, ...]] = []
        kernels = []
        for pair in range(self.pairs):
            inputs, labels = self._images(view, (2 * pair, 2 * pair + 1))
            features = TangentFeatures(view.network("layers"), outputs=_difference(pair))
            kernel = normalised(features.kernel(inputs, layers=False).gram.double().cpu().numpy())
            plane = principal_components(kernel)
            kernels.append(kernel)
            rows += ((pair, label, *at) for label, at in zip(labels, plane.tolist(), strict=True))
            accuracies.append((pair, accuracy_of_line(plane, np.array(labels))))
        row, column = np.indices(kernels[0].shape).reshape(2, -1)
        return {
            COMPONENTS.name: columns(COMPONENTS, rows),
            ACCURACY.name: columns(ACCURACY, accuracies),
            KERNEL.name: {"row": row, "column": column, "value": kernels[0].ravel()},
        }

    def _images(self, view: View, classes: tuple[int, int]) -> tuple[Tensor, list[int]]:
        test = view.examples("test")
        numbers, labels = [], []
        for label, number in enumerate(classes):
            found = (test.targets == number).nonzero()[: self.examples, 0]
            if not len(found):
                raise UserError(
                    f"probe.class_pairs.pairs={self.pairs}: no test image of class {number}; "
                    "expected fewer pairs"
                )
            numbers.append(found)
            labels += [label] * len(found)
        return test.inputs[torch.cat(numbers)], labels


def _difference(pair: int) -> Callable[[Tensor], Tensor]:
    return lambda f: f[:, 2 * pair + 1] - f[:, 2 * pair]


def normalised(kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    """G_ij / sqrt(G_ii G_jj)."""
    lengths: NDArray[np.float64] = np.sqrt(np.diag(kernel))
    return kernel / lengths / lengths[:, None]


def principal_components(kernel: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, 2): the examples on the two leading components of the centred kernel."""
    centred = kernel - kernel.mean(0) - kernel.mean(1)[:, None] + kernel.mean()
    values, vectors = np.linalg.eigh(centred)
    plane: NDArray[np.float64] = vectors[:, :-3:-1] * np.sqrt(np.maximum(values[:-3:-1], 0))
    return plane


def accuracy_of_line(plane: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    """The share on the right side of the line that least squares finds."""
    inputs = np.column_stack([plane, np.ones(len(plane))])
    weights, *_ = np.linalg.lstsq(inputs, 2.0 * labels - 1, rcond=None)
    return float(((inputs @ weights > 0) == (labels == 1)).mean())
