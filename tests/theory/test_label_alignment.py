"""The closed forms agree with centring the kernel and taking its CKA."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ntkexp.theory.alignment import (
    ALIGNMENTS,
    CENTRINGS,
    centre,
    centre_labels,
    label_cka,
    label_ckas,
)


@given(seed=st.integers(0, 999), n=st.integers(2, 12), c=st.integers(1, 5), shift=st.floats(0, 30))
def test_it_is_the_cka_of_the_centred_kernel(seed: int, n: int, c: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    # A common shift of all features is what centring takes away.
    Phi = rng.normal(size=(n * c, 7)) + shift * rng.normal(size=7)
    K, labels = Phi @ Phi.T, np.eye(c)[rng.permutation(np.arange(n) % c)]
    if c == 1:
        labels = np.where(np.arange(n) % 2, 1.0, -1.0)[:, None]
    found = label_ckas(K, labels)
    for kind in CENTRINGS:
        expected = label_cka(centre(K, c, kind), centre_labels(labels, kind))
        assert found[kind] == pytest.approx(expected, rel=1e-7, abs=1e-9)
    assert found["labels"] == pytest.approx(label_cka(K, centre_labels(labels, "class")), rel=1e-7)


def test_a_kernel_that_centring_takes_away_whole_has_none() -> None:
    assert label_ckas(np.ones((6, 6)), np.eye(2)[[0, 1, 0]])["joint"] == 0
    assert label_ckas(np.zeros((4, 4)), np.eye(2)) == dict.fromkeys(ALIGNMENTS, 0.0)
