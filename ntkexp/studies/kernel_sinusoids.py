"""Fourier transforms of the eigenvectors of a Gaussian kernel on the line (Figures 3.6 and A.3 of
"On the Spectral Bias of Neural Networks").

ntkexp study +exp=spectral/sinusoids
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ntkexp.options import count, option, positive
from ntkexp.results.table import Table, float64, int64
from ntkexp.studies.base import Found, Study
from ntkexp.theory.spectral.dft import coefficients
from ntkexp.theory.spectral.kernel_basis import eigenvectors, gaussian_kernel

KERNEL_VECTORS = Table(
    "kernel_vectors",
    "an entry of an eigenvector of the kernel",
    {
        "n": int64("1 has the largest eigenvalue"),
        "x": float64("the point"),
        "value": float64("of the eigenvector of length 1"),
    },
)
KERNEL_SPECTRA = Table(
    "kernel_spectra",
    "the Fourier magnitude of an eigenvector of the kernel at one frequency",
    {
        "n": int64("1 has the largest eigenvalue"),
        "k": int64("oscillations over all points"),
        "magnitude": float64("2/N times the sum over N points"),
    },
)


@dataclass
class KernelSinusoids(Study):
    """N uniform points between 0 and 1, both ends included, all in float64."""

    tables: ClassVar = (KERNEL_VECTORS, KERNEL_SPECTRA)

    points: int = option(50, count("points", most=5000), "uniform between 0 and 1")
    sigma: float = option(0.05, positive(), "the width of the kernel")

    def compute(self) -> Found:
        x = np.linspace(0, 1, self.points)
        _, vectors = eigenvectors(gaussian_kernel(x[:, None], self.sigma))
        spectra = np.abs(coefficients(vectors.T))
        n = np.arange(1, self.points + 1)
        return {
            "kernel_vectors": {
                "n": np.repeat(n, self.points),
                "x": np.tile(x, self.points),
                "value": vectors.T.ravel(),
            },
            "kernel_spectra": {
                "n": np.repeat(n, spectra.shape[1]),
                "k": np.tile(np.arange(spectra.shape[1]), self.points),
                "magnitude": spectra.ravel(),
            },
        }
