"""Figure 8: the tangent kernel of a random network on a line has Fourier modes for eigenvectors.

An MLP with PyTorch's own initialisation, whose biases are random: with zero biases the net is
positively homogeneous, and its kernel on [0, 1] has hardly any mode beyond the first two.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from ntkexp import models
from ntkexp.models.mlp import Mlp
from ntkexp.studies.base import Frames, Part
from ntkexp.studies.fourier_modes import EIGENVECTORS, FOURIER, PEAKS, FourierModes
from ntkexp.tangent import tangent_kernel
from ntkexp.theory.centring import centre
from ntkexp.theory.float64 import Array, array
from ntkexp.theory.spectrum import eigenpairs


def parts(config: FourierModes) -> list[Part]:
    """One network each."""

    def of(seed: int) -> Frames:
        return describe(config, seed, *eigenpairs(random_kernel(config, seed)))

    return [partial(of, seed) for seed in range(config.seed, config.seed + config.seeds)]


def random_kernel(config: FourierModes, seed: int) -> Array:
    """The centred kernel (points, points) of a network nobody has trained, in float64."""
    mlp = Mlp(depth=config.depth, width=config.width, init=config.init)
    model = models.build(mlp, (1,), 1, seed).double()
    x = torch.linspace(0, 1, config.points, dtype=torch.float64)[:, None]
    return centre(tangent_kernel(model, x).gram.detach().numpy(), 1, config.centring)


def magnitudes(vectors: Array) -> Array:
    """|DFT| of unit eigenvectors given as columns, (frequencies, modes), frequency 0 included."""
    return array(np.abs(np.fft.rfft(vectors, axis=0)))


def describe(config: FourierModes, seed: int, eigs: Array, vectors: Array) -> Frames:
    transform = magnitudes(vectors)
    frequency, mode = np.indices(transform.shape)
    labels: dict[str, object] = {"seed": seed, "centring": config.centring}
    energy = transform**2
    # All frequencies but 0 and the highest of an even number occur twice, as +k and -k.
    energy[1 : (len(vectors) + 1) // 2] *= 2
    shown = vectors[:, config.shown] * np.where(vectors[0, config.shown] < 0, -1.0, 1.0)
    return {
        "fourier_magnitude": FOURIER.frame(
            labels
            | {
                "mode": mode.ravel(),
                "frequency": frequency.ravel(),
                "magnitude": transform.ravel(),
            }
        ),
        "peak_frequency": PEAKS.frame(
            labels
            | {
                "mode": np.arange(len(eigs)),
                "eigenvalue": eigs,
                "frequency": energy.argmax(axis=0),
                "share": energy.max(axis=0) / energy.sum(axis=0),
            }
        ),
        "eigenvectors": EIGENVECTORS.frame(
            labels
            | {
                "mode": np.repeat(config.shown, config.points),
                "x": np.tile(np.linspace(0, 1, config.points), len(config.shown)),
                "value": shown.T.ravel(),
            }
        ),
    }
