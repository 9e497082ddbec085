"""Rademacher complexities of small linear classes against the paper's bounds (appendix B).

Random features, three classes: one ball (Proposition 10), a learning flow of several geometries
(Theorem 2), and the margin loss of a multiclass ball (Lemma 12, Theorem 13).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ntkexp.errors import UserError
from ntkexp.memory import available_bytes, refuse_beyond
from ntkexp.options import MANY, MOST_SEEDS, SEED, count, each, option, positive, whole
from ntkexp.progress import Progress
from ntkexp.results.table import Table
from ntkexp.theory import rademacher
from ntkexp.theory.float64 import Array, array

# All 2^n signs are enumerated.
ENUMERATED = whole(1, rademacher.LARGEST_ENUMERATION, "as n")


@dataclass
class Config:
    seed: int = option(0, SEED)
    seeds: int = option(20, count("draws of features", most=MOST_SEEDS))
    sizes: list[int] = option([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], each(ENUMERATED))
    features: int = option(5, count("features", most=10_000))
    radius: float = option(1.0, positive(1e6))
    draws: int = option(2000, whole(2, MANY, "draws"))  # one has no standard error
    flow_steps: int = option(5, count("steps", most=10_000))
    classes: int = option(3, whole(2, 1000, "classes"))  # one has no margins
    multiclass_sizes: list[int] = option([2, 4, 6, 8], each(ENUMERATED))
    multiclass_features: int = option(3, count("features", most=10_000))
    margin: float = option(1.0, positive(1e6, least=1e-6))
    sampled_weights: int = option(5000, count("weights"))


LINEAR = Table(
    "rademacher_linear",
    "Complexity of a ball of a random metric: by all signs, by random signs, and bound (10).",
    {
        "seed": "int64",
        "n": "int64",
        "exact": "float64",
        "monte_carlo": "float64",
        "standard_error": "float64",
        "bound": "float64",
    },
)
FLOW = Table(
    "rademacher_flow",
    "Complexity of a learning flow, by all signs, and its bound (12).",
    {"seed": "int64", "n": "int64", "exact": "float64", "bound": "float64"},
)
MULTICLASS = Table(
    "rademacher_multiclass",
    "Margin loss class: complexity of weights sampled from the ball (a lower bound of the ball's), "
    "Lemma 12 with exact class complexities, and Theorem 13.",
    {
        "seed": "int64",
        "n": "int64",
        "sampled": "float64",
        "lemma_12": "float64",
        "theorem_13": "float64",
    },
)
TABLES = (LINEAR, FLOW, MULTICLASS)


def run(config: Config, *, progress: bool) -> dict[str, pd.DataFrame]:
    check(config)
    rows: dict[str, list[pd.DataFrame]] = {table.name: [] for table in TABLES}
    total = config.seeds * (len(config.sizes) + len(config.multiclass_sizes))
    with Progress("rademacher", total, shown=progress) as bar:
        for seed in range(config.seed, config.seed + config.seeds):
            for n in config.sizes:
                generator = np.random.default_rng([seed, n])
                rows["rademacher_linear"].append(linear(config, seed, n, generator))
                rows["rademacher_flow"].append(flow(config, seed, n, generator))
                bar.advance()
            for n in config.multiclass_sizes:
                generator = np.random.default_rng([seed, n, config.classes])
                rows["rademacher_multiclass"].append(multiclass(config, seed, n, generator))
                bar.advance()
    return {name: pd.concat(frames, ignore_index=True) for name, frames in rows.items()}


def check(config: Config) -> None:
    for key in ("sizes", "multiclass_sizes"):
        if not getattr(config, key):
            raise UserError(f"study.{key}=[]: needs one n or more")
    room, n = available_bytes(), max(config.sizes)
    refuse_beyond(
        f"study.draws={config.draws}", f"signs of {n} examples", 3 * 8 * config.draws * n, room
    )
    scores = max(config.multiclass_sizes) * config.classes + config.multiclass_features
    refuse_beyond(
        f"study.sampled_weights={config.sampled_weights}",
        f"{scores:,} numbers for each",
        3 * 8 * config.sampled_weights * scores,
        room,
    )
    metrics = config.flow_steps * config.features**2
    refuse_beyond(f"study.features={config.features}", "its metrics", 3 * 8 * metrics, room)


def random_metrics(count: int, size: int, generator: np.random.Generator) -> Array:
    """Matrices A (count, P, P): random rotations with log-normal scales, so never singular."""
    rotations = np.linalg.qr(generator.normal(size=(count, size, size)))[0]
    return array(rotations * generator.lognormal(sigma=0.5, size=(count, 1, size)))


def linear(config: Config, seed: int, n: int, generator: np.random.Generator) -> pd.DataFrame:
    phi = generator.normal(size=(n, config.features))
    K = rademacher.rescaled_kernel(phi, random_metrics(1, config.features, generator)[0])
    mean, error = rademacher.monte_carlo(K, config.radius, config.draws, generator)
    return LINEAR.frame(
        {
            "seed": seed,
            "n": n,
            "exact": rademacher.exact(K, config.radius),
            "monte_carlo": mean,
            "standard_error": error,
            "bound": rademacher.bound(K, config.radius),
        }
    )


def flow(config: Config, seed: int, n: int, generator: np.random.Generator) -> pd.DataFrame:
    phi = generator.normal(size=(n, config.features))
    metrics = random_metrics(config.flow_steps, config.features, generator)
    kernels = [rademacher.rescaled_kernel(phi, A) for A in metrics]
    radii = [config.radius / config.flow_steps] * config.flow_steps
    return FLOW.frame(
        {
            "seed": seed,
            "n": n,
            "exact": rademacher.flow_exact(kernels, radii),
            "bound": rademacher.flow_bound(kernels, radii),
        }
    )


def multiclass(config: Config, seed: int, n: int, generator: np.random.Generator) -> pd.DataFrame:
    """A joint feature map Phi(x)[y] with random features, A = Id, random labels."""
    c, size = config.classes, config.multiclass_features
    phi = generator.normal(size=(n * c, size))
    labels = generator.integers(c, size=n)
    weights = generator.normal(size=(config.sampled_weights, size))
    weights *= config.radius / np.linalg.norm(weights, axis=1, keepdims=True)
    scores = (weights @ phi.T).reshape(-1, n, c)
    own = np.eye(c, dtype=bool)[labels]
    margins = scores[:, own] - np.where(own, -np.inf, scores).max(axis=2)
    K = phi @ phi.T
    return MULTICLASS.frame(
        {
            "seed": seed,
            "n": n,
            "sampled": rademacher.finite_class(rademacher.ramp(margins, config.margin)),
            "lemma_12": rademacher.lemma_12_bound(K, c, config.radius, config.margin),
            "theorem_13": rademacher.multiclass_bound(K, c, config.radius, config.margin),
        }
    )
