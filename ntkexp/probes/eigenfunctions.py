"""The leading eigenfunctions of the tangent kernel, on every point of the test set.

On the disk the test set is a lattice of the square, and the eigenfunctions are images (Figure 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse.linalg import eigsh

from ntkexp.data import Split
from ntkexp.data.disk import Disk
from ntkexp.errors import UserError
from ntkexp.machine import available_bytes, refuse_beyond
from ntkexp.options import MANY, one_of, option, whole
from ntkexp.probes.base import Probe
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float32, float64, int64, string
from ntkexp.theory.alignment import CENTRINGS, centre

EIGENFUNCTIONS = Table(
    "eigenfunctions",
    "the value of one eigenfunction of the centred kernel at one point of the test set; rank 1 has "
    "the largest eigenvalue; the mean square over the points is 1",
    {
        "step": STEP,
        "rank": int64("1 has the largest eigenvalue"),
        "point": int64("number of the point, as in `points`"),
        "value": float32("mean square over the points is 1"),
    },
)
EIGENVALUES = Table(
    "eigenvalues",
    "a leading eigenvalue of the centred kernel on all points of the test set",
    {
        "step": STEP,
        "rank": int64("1 has the largest eigenvalue"),
        "eigenvalue": float64("of the kernel over all rows, not divided by their number"),
    },
)
POINTS = Table(
    "points",
    "a point of the plane with its label, 0 or 1, written once",
    {
        "step": int64("0, where it is written"),
        "split": string("`train` or `test`"),
        "point": int64("number of the point, from 0 in each split"),
        "x": float64("first coordinate"),
        "y": float64("second coordinate"),
        "label": int64("0 or 1"),
    },
)


@dataclass
class Eigenfunctions(Probe):
    """The first `count` eigenfunctions; at step 0 also where the points lie."""

    needs = frozenset({"kernel", "examples", "training"})
    looks_at = frozenset()
    tiny: ClassVar = {"count": 4}
    tables = (EIGENFUNCTIONS, EIGENVALUES, POINTS)

    count: int = option(20, whole(1, MANY, "eigenfunctions"), "how many of them, from the largest")
    centring: str = option("class", one_of(*CENTRINGS), "how features are centred")

    def check(self, config: Any = None) -> None:
        if not isinstance(config.data, Disk):
            raise UserError(
                f"probe.eigenfunctions: draws functions of the plane, data={config.data.name} "
                "has none; expected data=disk"
            )
        grid, points = config.data.grid, config.data.grid**2
        refuse_beyond(
            f"data.grid={grid}",
            f"the kernel of {points:,} x {points:,} points that probe.eigenfunctions takes",
            2 * 8 * points**2,  # float64, and once more centred
            available_bytes(),
        )
        # Lanczos finds all eigenvectors but the last.
        if self.count >= points:
            raise UserError(
                f"probe.eigenfunctions.count={self.count}: the kernel has {points:,} points "
                f"(data.grid={grid}); expected 1 to {points - 1:,}"
            )

    def measure(self, view: View) -> Rows:
        kernel = view.kernel_on(view.examples("test").inputs)
        uncentred = kernel.gram.double().cpu().numpy()
        gram = centre(uncentred, kernel.outputs, self.centring)
        size = len(gram)
        ranks = np.arange(1, self.count + 1)
        rows: dict[str, Any] = {}
        if np.abs(gram).max() <= size * np.finfo(float).eps * np.abs(uncentred).max():
            # A network none of whose units open: the kernel is constant, and has no eigenfunctions.
            values = np.zeros(self.count)
        else:
            # A fixed starting vector: the same kernel gives the same bits. Twenty of 2500
            # eigenvalues that decay fast are a hundredth of the work of all of them.
            start = np.cos(np.arange(size))
            values, vectors = eigsh(gram, k=self.count, which="LA", v0=start)
            values, vectors = values[::-1], _signed(vectors[:, ::-1]) * np.sqrt(size)
            rows["eigenfunctions"] = {
                "rank": np.repeat(ranks, size),
                "point": np.tile(np.arange(size), self.count),
                "value": vectors.T.ravel(),
            }
        rows["eigenvalues"] = {"rank": ranks, "eigenvalue": values}
        if view.step == 0:
            rows["points"] = _points(view)
        return rows


def _signed(vectors: np.ndarray) -> np.ndarray:
    """Eigenvectors have no sign: make each one's largest entry positive."""
    peaks = np.abs(vectors).argmax(axis=0)
    signed: np.ndarray = vectors * np.sign(vectors[peaks, np.arange(vectors.shape[1])])
    return signed


def _points(view: View) -> dict[str, np.ndarray]:
    splits = {name: view.examples(name) for name in ("train", "test")}
    return {
        "split": np.concatenate([np.full(_size(part), name) for name, part in splits.items()]),
        "point": np.concatenate([np.arange(_size(part)) for part in splits.values()]),
        "x": np.concatenate([part.inputs[:, 0].cpu().numpy() for part in splits.values()]),
        "y": np.concatenate([part.inputs[:, 1].cpu().numpy() for part in splits.values()]),
        "label": np.concatenate([part.targets.cpu().numpy() for part in splits.values()]),
    }


def _size(split: Split) -> int:
    return len(split.targets)
