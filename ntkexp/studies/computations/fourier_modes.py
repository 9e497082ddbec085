"""Figure 8: the tangent kernel of a random network on a line has Fourier modes for eigenvectors.

An MLP with PyTorch's own initialisation, whose biases are random: with zero biases the net is
positively homogeneous, and its kernel on [0, 1] has hardly any mode beyond the first two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch

from ntkexp import models
from ntkexp.config import Init, MLPConfig
from ntkexp.errors import UserError
from ntkexp.memory import available_bytes, refuse_beyond
from ntkexp.models.size import parameters
from ntkexp.options import MANY, MOST_SEEDS, SEED, count, each, one_of, option, whole
from ntkexp.progress import track
from ntkexp.results.table import Table
from ntkexp.tangent import tangent_kernel
from ntkexp.theory.centring import CENTRINGS, centre
from ntkexp.theory.float64 import Array, array
from ntkexp.theory.spectrum import eigenpairs


@dataclass
class Config:
    seed: int = option(0, SEED)
    seeds: int = option(5, count("networks", most=MOST_SEEDS))
    points: int = option(50, whole(4, MANY, "points"))  # with fewer no mode has a peak
    depth: int = option(6, count("hidden layers", most=1000))
    width: int = option(256, count("units"))
    init: Init = Init.default
    centring: str = option("class", one_of(*CENTRINGS))
    shown: list[int] = option([0, 5, 20], each(whole(0, MANY, "as a mode")))


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
    if not config.shown:
        raise UserError("study.shown: needs one mode or more")
    for mode in config.shown:
        if not 0 <= mode < config.points:
            raise UserError(f"study.shown: mode {mode} is not between 0 and {config.points - 1}")
    refuse_beyond(
        f"study.points={config.points}",
        f"kernels of {config.points:,} x {config.points:,}",
        3 * 8 * config.points**2,
        available_bytes(),
    )
    mlp = MLPConfig(depth=config.depth, width=config.width)
    refuse_beyond(
        f"study.width={config.width}",
        "its parameters and their gradients",
        2 * 8 * parameters(mlp, (1,), 1),
        available_bytes(),
    )


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
