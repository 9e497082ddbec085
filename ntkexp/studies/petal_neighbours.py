"""Nearest neighbours on Experiment 6's classes (appendix A.5.2 of "On the Spectral Bias of Neural
Networks"): how often they are right, and how smooth they are in the plane.

ntkexp study +exp=spectral/neighbours
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.spatial import cKDTree

from ntkexp.data.petal_classes import PetalClasses
from ntkexp.errors import UserError
from ntkexp.options import MOST_SEEDS, SEED, count, each, option, positive, whole
from ntkexp.results.table import Table, float64, int64, string
from ntkexp.studies.base import Found, Part, Study
from ntkexp.theory.float64 import Array
from ntkexp.theory.spectral.dft import grid
from ntkexp.theory.spectral.manifold import lattice, petals, radial_spectrum

NEIGHBOUR_ACCURACY = Table(
    "neighbour_accuracy",
    "how often the vote of the K nearest training points is right, for one phase of the signal",
    {
        "seed": int64("of the phase"),
        "neighbours": int64("K"),
        "frequency": int64("k of the signal"),
        "petals": int64("L of the curve"),
        "points": string("`train`: the training points, each its own neighbour; `between` them"),
        "accuracy": float64("share of right classes"),
    },
)
NEIGHBOUR_SPECTRUM = Table(
    "neighbour_spectrum",
    "the sum of a map's Fourier magnitudes over all directions, at one frequency",
    {
        "seed": int64("of the phase"),
        "neighbours": int64("K"),
        "map": string("of class probabilities or of classes", choices=("probability", "class")),
        "k": int64("periods over the side of the square"),
        "zeta": float64("sum over the ring of frequencies nearest to k"),
    },
)


@dataclass
class PetalNeighbours(Study):
    """The probability of class 1 is its share among the K nearest points."""

    tables: ClassVar = (NEIGHBOUR_ACCURACY, NEIGHBOUR_SPECTRUM)
    tiny: ClassVar = {"seeds": 1, "train_examples": 41, "side": 16}

    seed: int = option(0, SEED, "the first of the seeds")
    seeds: int = option(3, count("phases", most=MOST_SEEDS), "how many phases of the signal")
    neighbours: list[int] = option([1, 3, 5, 9], each(whole(1, 1000, "neighbours"), 1), "who vote")
    frequencies: list[int] = option(
        [*range(50, 401, 50)], each(count("oscillations"), 1), "of the signal"
    )
    petals: list[int] = option(
        [*range(0, 21, 2)], each(whole(0, 10_000, "petals"), 1), "of the curve"
    )
    train_examples: int = option(1009, count("points"), "points on the curve")
    map_frequency: int = option(150, count("oscillations"), "of the signal of the map")
    map_petals: int = option(20, whole(0, 10_000, "petals"), "of the curve of the map")
    side: int = option(512, whole(4, 4096, "points a side"), "points a side of the map")
    half_width: float = option(1.6, positive(1e6), "half the side of the map")

    def check(self, config: Any = None) -> None:
        if most(self) > self.train_examples:
            raise UserError(
                f"study.neighbours={self.neighbours}: expected at most the "
                f"study.train_examples={self.train_examples} points"
            )

    def parts(self) -> list[Part]:
        return [partial(of_seed, self, self.seed + number) for number in range(self.seeds)]


def of_seed(config: PetalNeighbours, seed: int) -> Found:
    return {
        NEIGHBOUR_ACCURACY.name: accuracies(config, seed),
        NEIGHBOUR_SPECTRUM.name: spectra(config, seed),
    }


def accuracies(config: PetalNeighbours, seed: int) -> dict[str, object]:
    rows: list[tuple[object, ...]] = []
    z = grid(config.train_examples)
    between = z + 0.5 / config.train_examples
    for L in config.petals:
        tree = cKDTree(petals(z, L))
        nearest = {
            name: tree.query(petals(at, L), k=[*range(1, most(config) + 1)])[1]
            for name, at in (("train", z), ("between", between))
        }
        for k in config.frequencies:
            signal = PetalClasses(frequency=k, petals=L, train_examples=config.train_examples)
            classes = signal.classes_at(z, seed)
            truth = {"train": classes, "between": signal.classes_at(between, seed)}
            for K in config.neighbours:
                for name, indices in nearest.items():
                    votes = classes[indices[:, :K]].mean(1) > 0.5
                    rows.append((K, k, L, name, float((votes == truth[name]).mean())))
    names = ("neighbours", "frequency", "petals", "points", "accuracy")
    return {"seed": seed, **dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))}


def spectra(config: PetalNeighbours, seed: int) -> dict[str, object]:
    z = grid(config.train_examples)
    signal = PetalClasses(
        frequency=config.map_frequency,
        petals=config.map_petals,
        train_examples=config.train_examples,
    )
    classes = signal.classes_at(z, seed)
    tree = cKDTree(petals(z, config.map_petals))
    points = lattice(config.side, config.half_width)
    _, nearest = tree.query(points, k=[*range(1, most(config) + 1)])
    maps: list[tuple[int, str, Array]] = []
    for K in config.neighbours:
        share = classes[nearest[:, :K]].mean(1).reshape(config.side, config.side)
        maps.append((K, "probability", radial_spectrum(share)))
        maps.append((K, "class", radial_spectrum(share > 0.5)))
    length = len(maps[0][2])
    return {
        "seed": seed,
        "neighbours": np.repeat([K for K, _, _ in maps], length),
        "map": np.repeat([name for _, name, _ in maps], length),
        "k": np.tile(np.arange(1, length + 1), len(maps)),
        "zeta": np.concatenate([zeta for *_, zeta in maps]),
    }


def most(config: PetalNeighbours) -> int:
    return max(config.neighbours)
