"""Rademacher complexities of small linear classes against the paper's bounds (appendix B).

Random features, three classes: one ball (Proposition 10), a learning flow of several geometries
(Theorem 2), and the margin loss of a multiclass ball (Lemma 12, Theorem 13).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ntkexp.errors import UserError
from ntkexp.progress import Progress
from ntkexp.results.table import Table
from ntkexp.theory import rademacher
from ntkexp.theory.float64 import Array, array


@dataclass
class Config:
    seed: int = 0
    seeds: int = 20
    sizes: list[int] = field(default_factory=lambda: [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    features: int = 5
    radius: float = 1.0
    draws: int = 2000
    flow_steps: int = 5
    classes: int = 3
    multiclass_sizes: list[int] = field(default_factory=lambda: [2, 4, 6, 8])
    multiclass_features: int = 3
    margin: float = 1.0
    sampled_weights: int = 5000


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
    largest = rademacher.LARGEST_ENUMERATION
    for key in ("sizes", "multiclass_sizes"):
        if not getattr(config, key):
            raise UserError(f"study.{key}: needs one n or more")
        for n in getattr(config, key):
            if not 1 <= n <= largest:
                raise UserError(
                    f"study.{key}: n = {n}; all 2^n signs are enumerated, for n from 1 to {largest}"
                )
    if config.classes < 2:
        raise UserError(f"study.classes={config.classes}: margins need 2 classes or more")
    for key in ("radius", "margin"):
        if getattr(config, key) <= 0:
            raise UserError(f"study.{key}={getattr(config, key)}: must be above zero")
    for key in ("seeds", "features", "flow_steps", "multiclass_features", "sampled_weights"):
        if getattr(config, key) < 1:
            raise UserError(f"study.{key}={getattr(config, key)}: must be 1 or more")
    if config.draws < 2:
        raise UserError(f"study.draws={config.draws}: a standard error needs 2 draws or more")


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
