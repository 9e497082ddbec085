"""The bound of a reconstruction error by an information, (18) of the thesis' chapter 5, on finite
sets: it holds with the entropy of x, and not with that of z, which is printed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy


def terms(q: np.ndarray, p: np.ndarray) -> dict[str, float]:
    """Of two joints (x, z), the encoder's q and the decoder's p: E_q -log p(x | z), and what
    bounds it."""
    q_x, q_z, p_z = q.sum(1), q.sum(0), p.sum(0)
    return {
        "error": float(-(q * np.log(p / p_z)).sum()),
        "divergence": float(entropy(q.ravel(), p.ravel())),
        "prior": float(entropy(q_z, p_z)),
        "information": float(entropy(q.ravel(), np.outer(q_x, q_z).ravel())),
        "x": float(entropy(q_x)),
        "z": float(entropy(q_z)),
    }


@pytest.mark.parametrize("seed", range(5))
def test_the_error_is_bounded_with_the_entropy_of_x(seed: int) -> None:
    stream = np.random.default_rng(seed)
    q, p = (stream.dirichlet(np.ones(20)).reshape(4, 5) for _ in range(2))
    of = terms(q, p)
    bound = of["divergence"] - of["information"] + of["x"]
    assert of["error"] == pytest.approx(bound - of["prior"])
    assert of["error"] < bound


def test_with_the_entropy_of_z_it_is_no_bound() -> None:
    """A code of one value says nothing: its entropy is 0, and the error all of x's."""
    q = np.array([[0.25], [0.75]])
    of = terms(q, q)
    assert of["error"] == pytest.approx(of["x"])
    assert of["divergence"] - of["information"] + of["z"] < of["error"]
