"""Distributions in the plane whose modes can be counted (Figures 5.3, 5.4 and 5.6 of "Mutual
Information Neural Estimation"): 25 Gaussians, and a spiral with noise.

A sample belongs to the nearest mode, where it is within three standard deviations of it. The modes
of the spiral are its stretches, of equal lengths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import cKDTree

from ntkexp.theory.float64 import Array

SIGMA, REACH = 0.05, 3
CURVE_POINTS = 5000


@dataclass(frozen=True)
class Toy:
    """`points` (m, 2) lie on what noise was added to, and `modes` (m,) says to which each belongs.
    A mode is captured by `least` of 10,000 samples."""

    points: Array
    modes: np.ndarray
    least: int

    @property
    def count(self) -> int:
        return int(self.modes.max()) + 1

    def captured(self, samples: ArrayLike) -> tuple[int, float]:
        """How many modes samples (10,000, 2) capture, and the share of them that belong to any."""
        distances, nearest = cKDTree(self.points).query(samples)
        near = distances <= REACH * SIGMA
        counts = np.bincount(self.modes[nearest[near]], minlength=self.count)
        return int((counts >= self.least).sum()), float(near.mean())


def gaussians() -> Toy:
    """Centres at -2, -1, 0, 1, 2 in both coordinates."""
    side = np.arange(-2.0, 3.0)
    centres = np.stack(np.meshgrid(side, side), -1).reshape(-1, 2)
    return Toy(centres, np.arange(25), least=100)


def spiral() -> Toy:
    """2 t (cos 3 pi t, sin 3 pi t), t uniform on [.2, 1], in fifty stretches."""
    t = np.linspace(0.2, 1, CURVE_POINTS)
    curve = 2 * t[:, None] * np.stack([np.cos(3 * np.pi * t), np.sin(3 * np.pi * t)], 1)
    steps = np.linalg.norm(np.diff(curve, axis=0), axis=1)
    along = np.concatenate([[0], steps.cumsum()]) / steps.sum()
    return Toy(curve, np.minimum((50 * along).astype(int), 49), least=50)


TOYS = {"gaussians": gaussians, "spiral": spiral}
