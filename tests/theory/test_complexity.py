from __future__ import annotations

import numpy as np

from ntkexp.theory.spectrum import complexity


def test_each_step_adds_its_update_norm_times_the_frobenius_norm_of_its_features() -> None:
    generator = np.random.default_rng(0)
    features = generator.normal(size=(5, 4, 7))
    norms = generator.uniform(size=5)
    traces = [np.trace(phi @ phi.T) for phi in features]
    by_hand = sum(w * np.linalg.norm(phi) for w, phi in zip(norms, features, strict=True))
    np.testing.assert_allclose(complexity(norms, traces)[-1], by_hand, rtol=1e-14)


def test_it_is_additive_over_iterations() -> None:
    norms, traces = np.random.default_rng(1).uniform(size=(2, 20))
    whole = complexity(norms, traces)
    first, second = complexity(norms[:8], traces[:8]), complexity(norms[8:], traces[8:])
    np.testing.assert_allclose(first[-1] + second, whole[8:], rtol=1e-14)
