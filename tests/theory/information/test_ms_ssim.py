"""The similarity of images beside its definition, window by window."""

from __future__ import annotations

import numpy as np
import pytest

from ntkexp.theory.information.ms_ssim import similarity


def by_windows(x: np.ndarray, y: np.ndarray) -> float:
    """Of one pair, with loops and weighted moments about the means."""
    side = np.arange(7) - 3.0
    window = np.exp(-(side[:, None] ** 2 + side**2) / (2 * 1.5**2))
    window /= window.sum()
    luminances, structures = [], []
    for _ in range(2):
        l_of, c_of = [], []
        for row in range(len(x) - 6):
            for column in range(len(x) - 6):
                a, b = (z[row : row + 7, column : column + 7] for z in (x, y))
                mean_a, mean_b = (window * a).sum(), (window * b).sum()
                var_a, var_b = (
                    (window * (z - m) ** 2).sum() for z, m in ((a, mean_a), (b, mean_b))
                )
                both = (window * (a - mean_a) * (b - mean_b)).sum()
                l_of.append((2 * mean_a * mean_b + 1e-4) / (mean_a**2 + mean_b**2 + 1e-4))
                c_of.append((2 * both + 9e-4) / (var_a + var_b + 9e-4))
        luminances.append(np.array(l_of))
        structures.append(np.array(c_of))
        x, y = ((z[::2, ::2] + z[1::2, ::2] + z[::2, 1::2] + z[1::2, 1::2]) / 4 for z in (x, y))
    first, second = 0.0448 / 0.3304, 0.2856 / 0.3304
    product = structures[0].mean() ** first
    return float(product * (luminances[1] * structures[1]).mean() ** second)


def test_similarity_is_that_of_its_windows() -> None:
    stream = np.random.default_rng(0)
    x = stream.uniform(size=(3, 28, 28))
    y = np.clip(x + stream.normal(scale=[[[0.05]], [[0.2]], [[0.5]]], size=x.shape), 0, 1)
    found = similarity(x, y)
    assert found == pytest.approx([by_windows(*pair) for pair in zip(x, y, strict=True)])
    assert found[0] > found[1] > found[2]
    assert similarity(y, x) == pytest.approx(found)


def test_an_image_is_like_itself_and_not_at_all_like_its_negative() -> None:
    x = np.random.default_rng(0).uniform(size=(2, 28, 28))
    assert similarity(x, x) == pytest.approx([1, 1])
    assert similarity(x, 1 - x) == pytest.approx([0, 0])


def test_brightness_alone_counts_at_the_last_scale_alone() -> None:
    """Of two even images there is only l, at the second scale."""
    a, b = np.full((1, 28, 28), 0.5), np.full((1, 28, 28), 0.25)
    luminance = (2 * 0.5 * 0.25 + 1e-4) / (0.5**2 + 0.25**2 + 1e-4)
    assert similarity(a, b) == pytest.approx([luminance ** (0.2856 / 0.3304)])
