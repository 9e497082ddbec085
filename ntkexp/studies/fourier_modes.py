"""Figure 8: the tangent kernel of a random network on a line has Fourier modes for eigenvectors.

An MLP with PyTorch's own initialisation, whose biases are random: with zero biases the net is
positively homogeneous, and its kernel on [0, 1] has hardly any mode beyond the first two.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import torch

from ntkexp import models
from ntkexp.config import Init, MLPConfig
from ntkexp.errors import UserError
from ntkexp.progress import track
from ntkexp.results.table import Table
from ntkexp.tangent import tangent_kernel
from ntkexp.theory.centring import CENTRINGS, centre
from ntkexp.theory.float64 import Array, array
from ntkexp.theory.spectrum import eigenpairs


@dataclass
class Config:
    seed: int = 0
    seeds: int = 5
    points: int = 50
    depth: int = 6
    width: int = 256
    init: Init = Init.default
    centring: str = "class"
    shown: list[int] = field(default_factory=lambda: [0, 5, 20])


FOURIER = Table(
    "fourier_magnitude",
    "Magnitude of the discrete Fourier transform of eigenvector `mode` at `frequency`.",
    {
        "seed": "int64",
        "centring": "string",
        "mode": "int64",
        "frequency": "int64",
        "magnitude": "float64",
    },
)
PEAKS = Table(
    "peak_frequency",
    "Eigenvalue of a mode and the frequency at which its eigenvector's transform is largest.",
    {
        "seed": "int64",
        "centring": "string",
        "mode": "int64",
        "eigenvalue": "float64",
        "frequency": "int64",
        "share": "float64",
    },
)
EIGENVECTORS = Table(
    "eigenvectors",
    "Value at x of the unit eigenvector `mode`, its sign such that the first value is positive.",
    {
        "seed": "int64",
        "centring": "string",
        "mode": "int64",
        "x": "float64",
        "value": "float64",
    },
)
TABLES = (FOURIER, PEAKS, EIGENVECTORS)


def run(config: Config, *, progress: bool) -> dict[str, pd.DataFrame]:
    check(config)
    rows: dict[str, list[pd.DataFrame]] = {table.name: [] for table in TABLES}
    seeds = range(config.seed, config.seed + config.seeds)
    for seed in track(seeds, "fourier_modes", shown=progress):
        eigs, vectors = eigenpairs(random_kernel(config, seed))
        for name, frame in describe(config, seed, eigs, vectors).items():
            rows[name].append(frame)
    return {name: pd.concat(frames, ignore_index=True) for name, frames in rows.items()}


def check(config: Config) -> None:
    if config.points < 4:
        raise UserError(f"study.points={config.points}: needs 4 or more for a mode to have a peak")
    if config.seeds < 1:
        raise UserError(f"study.seeds={config.seeds}: must be 1 or more")
    if config.centring not in CENTRINGS:
        raise UserError(f"study.centring={config.centring}: is one of {', '.join(CENTRINGS)}")
    if not config.shown:
        raise UserError("study.shown: needs one mode or more")
    for mode in config.shown:
        if not 0 <= mode < config.points:
            raise UserError(f"study.shown: mode {mode} is not between 0 and {config.points - 1}")


def random_kernel(config: Config, seed: int) -> Array:
    """The centred kernel (points, points) of a network nobody has trained, in float64."""
    mlp = MLPConfig(depth=config.depth, width=config.width, init=config.init)
    model = models.build(mlp, (1,), 1, seed).double()
    x = torch.linspace(0, 1, config.points, dtype=torch.float64)[:, None]
    return centre(tangent_kernel(model, x).gram.detach().numpy(), 1, config.centring)


def magnitudes(vectors: Array) -> Array:
    """|DFT| of unit eigenvectors given as columns, (frequencies, modes), frequency 0 included."""
    return array(np.abs(np.fft.rfft(vectors, axis=0)))


def describe(config: Config, seed: int, eigs: Array, vectors: Array) -> dict[str, pd.DataFrame]:
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
