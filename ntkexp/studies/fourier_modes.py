"""Figure 8: the tangent kernel of a random network on a line has Fourier modes for eigenvectors.

ntkexp study +exp=fourier_modes

The network is an MLP with PyTorch's own initialisation, whose biases are random: with zero biases
it is positively homogeneous, and its kernel on [0, 1] has hardly any mode beyond the first two.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch

from ntkexp import models
from ntkexp.errors import UserError
from ntkexp.models.base import Init
from ntkexp.models.mlp import Mlp
from ntkexp.options import MANY, MOST_SEEDS, SEED, count, each, one_of, option, whole
from ntkexp.results.table import Table, float64, int64, string
from ntkexp.studies.base import Found, Part, Study
from ntkexp.tangent import tangent_kernel
from ntkexp.theory.alignment import CENTRINGS, centre
from ntkexp.theory.float64 import Array, array
from ntkexp.theory.spectrum import eigenpairs

FOURIER = Table(
    "fourier_magnitude",
    "Magnitude of the discrete Fourier transform of eigenvector `mode` at `frequency`.",
    {
        "seed": int64("of the draw"),
        "centring": string("`class`, `joint` or `none`"),
        "mode": int64("number of the mode, in order of eigenvalues, from 0"),
        "frequency": int64("cycles over the interval"),
        "magnitude": float64("of the transform"),
    },
)
PEAKS = Table(
    "peak_frequency",
    "Eigenvalue of a mode and the frequency at which its eigenvector's transform is largest.",
    {
        "seed": int64("of the draw"),
        "centring": string("`class`, `joint` or `none`"),
        "mode": int64("number of the mode, in order of eigenvalues, from 0"),
        "eigenvalue": float64("of the kernel over all rows, not divided by their number"),
        "frequency": int64("cycles over the interval"),
        "share": float64("of the power at that frequency, 0 to 1"),
    },
)
EIGENVECTORS = Table(
    "eigenvectors",
    "Value at x of the unit eigenvector `mode`, its sign such that the first value is positive.",
    {
        "seed": int64("of the draw"),
        "centring": string("`class`, `joint` or `none`"),
        "mode": int64("number of the mode, in order of eigenvalues, from 0"),
        "x": float64("position in [0, 1]"),
        "value": float64("of the unit eigenvector"),
    },
)


@dataclass
class FourierModes(Study):
    """Eigenvectors of the tangent kernel of a random MLP on a line."""

    small: ClassVar = {"seeds": 1, "width": 64}
    tables: ClassVar = (FOURIER, PEAKS, EIGENVECTORS)

    seed: int = option(0, SEED, "the first of the seeds")
    seeds: int = option(5, count("networks", most=MOST_SEEDS), "random networks")
    points: int = option(50, whole(4, MANY, "points"), "points on the line")
    depth: int = option(6, count("hidden layers", most=1000), "hidden layers")
    width: int = option(256, count("units"), "units of a hidden layer")
    init: Init = option(Init.default, about="how weights are drawn; default has random biases")
    centring: str = option("class", one_of(*CENTRINGS), "how features are centred")
    shown: list[int] = option([0, 5, 20], each(whole(0, MANY, "as a mode"), 1), "modes to keep")

    def check(self, config: Any = None) -> None:
        for mode in self.shown:
            if not 0 <= mode < self.points:
                raise UserError(f"study.shown: mode {mode} is not between 0 and {self.points - 1}")

    def parts(self) -> list[Part]:
        """A part for each network."""
        return [partial(self.of_seed, seed) for seed in range(self.seed, self.seed + self.seeds)]

    def of_seed(self, seed: int) -> Found:
        return describe(self, seed, *eigenpairs(random_kernel(self, seed)))


def random_kernel(config: FourierModes, seed: int) -> Array:
    """The centred kernel (points, points) of an untrained network, in float64."""
    mlp = Mlp(depth=config.depth, width=config.width, init=config.init)
    model = models.build(mlp, (1,), 1, seed).double()
    x = torch.linspace(0, 1, config.points, dtype=torch.float64)[:, None]
    return centre(tangent_kernel(model, x).gram.detach().numpy(), 1, config.centring)


def magnitudes(vectors: Array) -> Array:
    """|DFT| of unit eigenvectors given as columns, (frequencies, modes), frequency 0 included."""
    return array(np.abs(np.fft.rfft(vectors, axis=0)))


def describe(config: FourierModes, seed: int, eigs: Array, vectors: Array) -> Found:
    transform = magnitudes(vectors)
    frequency, mode = np.indices(transform.shape)
    labels: dict[str, object] = {"seed": seed, "centring": config.centring}
    energy = transform**2
    # All frequencies but 0 and the highest of an even number occur twice, as +k and -k.
    energy[1 : (len(vectors) + 1) // 2] *= 2
    shown = vectors[:, config.shown] * np.where(vectors[0, config.shown] < 0, -1.0, 1.0)
    return {
        "fourier_magnitude": {
            **labels,
            "mode": mode.ravel(),
            "frequency": frequency.ravel(),
            "magnitude": transform.ravel(),
        },
        "peak_frequency": {
            **labels,
            "mode": np.arange(len(eigs)),
            "eigenvalue": eigs,
            "frequency": energy.argmax(axis=0),
            "share": energy.max(axis=0) / energy.sum(axis=0),
        },
        "eigenvectors": {
            **labels,
            "mode": np.repeat(config.shown, config.points),
            "x": np.tile(np.linspace(0, 1, config.points), len(config.shown)),
            "value": shown.T.ravel(),
        },
    }
