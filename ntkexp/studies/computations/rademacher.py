"""Rademacher complexities of small linear classes against the paper's bounds (appendix B).

Random features, three classes: one ball (Proposition 10), a learning flow of several geometries
(Theorem 2), and the margin loss of a multiclass ball (Lemma 12, Theorem 13).
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from ntkexp.studies.base import Frames, Part
from ntkexp.studies.rademacher import FLOW, LINEAR, MULTICLASS, Rademacher
from ntkexp.theory import rademacher
from ntkexp.theory.float64 import Array, array


def parts(config: Rademacher) -> list[Part]:
    """One number of examples of one seed each."""
    found: list[Part] = []
    for seed in range(config.seed, config.seed + config.seeds):
        found += [partial(of_two_classes, config, seed, n) for n in config.sizes]
        found += [partial(of_many_classes, config, seed, n) for n in config.multiclass_sizes]
    return found


def of_two_classes(config: Rademacher, seed: int, n: int) -> Frames:
    generator = np.random.default_rng([seed, n])
    return {
        "rademacher_linear": linear(config, seed, n, generator),
        "rademacher_flow": flow(config, seed, n, generator),
    }


def of_many_classes(config: Rademacher, seed: int, n: int) -> Frames:
    generator = np.random.default_rng([seed, n, config.classes])
    return {"rademacher_multiclass": multiclass(config, seed, n, generator)}


def random_metrics(count: int, size: int, generator: np.random.Generator) -> Array:
    """Matrices A (count, P, P): random rotations with log-normal scales, so never singular."""
    rotations = np.linalg.qr(generator.normal(size=(count, size, size)))[0]
    return array(rotations * generator.lognormal(sigma=0.5, size=(count, 1, size)))


def linear(config: Rademacher, seed: int, n: int, generator: np.random.Generator) -> pd.DataFrame:
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


def flow(config: Rademacher, seed: int, n: int, generator: np.random.Generator) -> pd.DataFrame:
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


def multiclass(
    config: Rademacher, seed: int, n: int, generator: np.random.Generator
) -> pd.DataFrame:
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
