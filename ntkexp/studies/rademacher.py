"""Rademacher complexities of small linear classes against the paper's bounds (appendix B).

ntkexp study +exp=rademacher

Random features, three classes: one ball (Proposition 10), a learning flow of several geometries
(Theorem 2), and the margin loss of a multiclass ball (Lemma 12, Theorem 13).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from ntkexp.options import MANY, MOST_SEEDS, SEED, count, each, option, positive, whole
from ntkexp.results.table import Table, float64, int64
from ntkexp.studies.base import Found, Part, Study
from ntkexp.theory import rademacher
from ntkexp.theory.float64 import Array, array
from ntkexp.theory.rademacher import LARGEST_ENUMERATION

# All 2^n signs are enumerated.
ENUMERATED = whole(1, LARGEST_ENUMERATION, "as n")

LINEAR = Table(
    "rademacher_linear",
    "Complexity of a ball of a random metric: by all signs, by random signs, and bound (10).",
    {
        "seed": int64("of the draw"),
        "n": int64("examples"),
        "exact": float64("over all 2^n signs"),
        "monte_carlo": float64("over random signs"),
        "standard_error": float64("of that mean"),
        "bound": float64("what the theorem allows"),
    },
)
FLOW = Table(
    "rademacher_flow",
    "Complexity of a learning flow, by all signs, and its bound (12).",
    {
        "seed": int64("of the draw"),
        "n": int64("examples"),
        "exact": float64("over all 2^n signs"),
        "bound": float64("what the theorem allows"),
    },
)
MULTICLASS = Table(
    "rademacher_multiclass",
    "Margin loss class: complexity of weights sampled from the ball (a lower bound of the ball's), "
    "Lemma 12 with exact class complexities, and Theorem 13.",
    {
        "seed": int64("of the draw"),
        "n": int64("examples"),
        "sampled": float64("largest found, a lower bound"),
        "lemma_12": float64("bound"),
        "theorem_13": float64("bound"),
    },
)


@dataclass
class Rademacher(Study):
    """Rademacher complexity of small linear classes against the paper's bounds."""

    small: ClassVar = {"seeds": 3, "draws": 300, "sampled_weights": 500}
    tables: ClassVar = (LINEAR, FLOW, MULTICLASS)

    seed: int = option(0, SEED, "the first of the seeds")
    seeds: int = option(20, count("draws of features", most=MOST_SEEDS), "draws of features")
    sizes: list[int] = option([*range(2, 13)], each(ENUMERATED, 1), "examples, n")
    features: int = option(5, count("features", most=10_000), "features, P")
    radius: float = option(1.0, positive(1e6), "radius of the ball, M")
    draws: int = option(2000, whole(2, MANY, "draws"), "random signs of an estimate")
    flow_steps: int = option(5, count("steps", most=10_000), "metrics of the learning flow, T")
    classes: int = option(3, whole(2, 1000, "classes"), "classes of Theorem 13")
    multiclass_sizes: list[int] = option([2, 4, 6, 8], each(ENUMERATED, 1), "in Theorem 13")
    multiclass_features: int = option(3, count("features", most=10_000), "features in Theorem 13")
    margin: float = option(1.0, positive(1e6, least=1e-6), "margin of the ramp loss")
    sampled_weights: int = option(5000, count("weights"), "weights that bound its class from below")

    def parts(self) -> list[Part]:
        """A part for every seed and number of examples."""
        parts: list[Part] = []
        for seed in range(self.seed, self.seed + self.seeds):
            parts += [partial(of_two_classes, self, seed, n) for n in self.sizes]
            parts += [partial(of_many_classes, self, seed, n) for n in self.multiclass_sizes]
        return parts


def of_two_classes(config: Rademacher, seed: int, n: int) -> Found:
    generator = np.random.default_rng([seed, n])
    return {
        "rademacher_linear": linear(config, seed, n, generator),
        "rademacher_flow": flow(config, seed, n, generator),
    }


def of_many_classes(config: Rademacher, seed: int, n: int) -> Found:
    generator = np.random.default_rng([seed, n, config.classes])
    return {"rademacher_multiclass": multiclass(config, seed, n, generator)}


def random_metrics(count: int, size: int, generator: np.random.Generator) -> Array:
    """Matrices A (count, P, P): random rotations with log-normal scales, so never singular."""
    rotations = np.linalg.qr(generator.normal(size=(count, size, size)))[0]
    return array(rotations * generator.lognormal(sigma=0.5, size=(count, 1, size)))


def linear(
    config: Rademacher, seed: int, n: int, generator: np.random.Generator
) -> dict[str, object]:
    phi = generator.normal(size=(n, config.features))
    K = rademacher.rescaled_kernel(phi, random_metrics(1, config.features, generator)[0])
    mean, error = rademacher.monte_carlo(K, config.radius, config.draws, generator)
    return {
        "seed": seed,
        "n": n,
        "exact": rademacher.exact(K, config.radius),
        "monte_carlo": mean,
        "standard_error": error,
        "bound": rademacher.bound(K, config.radius),
    }


def flow(
    config: Rademacher, seed: int, n: int, generator: np.random.Generator
) -> dict[str, object]:
    phi = generator.normal(size=(n, config.features))
    metrics = random_metrics(config.flow_steps, config.features, generator)
    kernels = [rademacher.rescaled_kernel(phi, A) for A in metrics]
    radii = [config.radius / config.flow_steps] * config.flow_steps
    return {
        "seed": seed,
        "n": n,
        "exact": rademacher.flow_exact(kernels, radii),
        "bound": rademacher.flow_bound(kernels, radii),
    }


def multiclass(
    config: Rademacher, seed: int, n: int, generator: np.random.Generator
) -> dict[str, object]:
    """A joint feature map Phi(x)[y] with random features, A = Id, random labels."""
    c, size = config.classes, config.multiclass_features
    phi = generator.normal(size=(n * c, size))
    labels = generator.integers(c, size=n)
    weights = generator.normal(size=(config.sampled_weights, size))
    weights *= config.radius / np.linalg.norm(weights, axis=1, keepdims=True)
    scores = (weights @ phi.T).reshape(-1, n, c)
    of_label = np.eye(c, dtype=bool)[labels]
    margins = scores[:, of_label] - np.where(of_label, -np.inf, scores).max(axis=2)
    K = phi @ phi.T
    return {
        "seed": seed,
        "n": n,
        "sampled": rademacher.finite_class(rademacher.ramp(margins, config.margin)),
        "lemma_12": rademacher.lemma_12_bound(K, c, config.radius, config.margin),
        "theorem_13": rademacher.multiclass_bound(K, c, config.radius, config.margin),
    }
