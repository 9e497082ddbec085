"""Points on curved and on flat sets, with random targets."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.distance import pdist

from ntkexp import data
from ntkexp.data.dataset import Split
from ntkexp.data.images.sources import read
from ntkexp.data.manifolds import CODE, Manifolds, Points, flat


@pytest.fixture
def splits(made_images: None) -> dict[Points, Split]:
    cpu = torch.device("cpu")
    return {
        points: data.load(
            Manifolds(points=points, train_examples=100, epochs=20), 0, cpu, progress=False
        ).train
        for points in Points
    }


def test_all_have_the_same_targets_and_each_its_shape_and_distance(
    splits: dict[Points, Split],
) -> None:
    x = {points: split.inputs.double().numpy() for points, split in splits.items()}
    for split in splits.values():
        assert torch.equal(split.targets, splits[Points.noise].targets)
    assert 0 <= x[Points.noise].min() < 0.01 < 0.99 < x[Points.noise].max() <= 1
    assert not x[Points.noise][:, CODE:].any()
    apart = {points: pdist(values).mean() for points, values in x.items()}
    assert apart[Points.scaled_noise] == pytest.approx(apart[Points.reconstructions], rel=1e-5)
    assert apart[Points.scaled_reconstructions] == pytest.approx(apart[Points.noise], rel=1e-5)
    for one, other in (("noise", "scaled_noise"), ("reconstructions", "scaled_reconstructions")):
        ratio = x[Points(other)] / np.where(x[Points(one)] == 0, np.nan, x[Points(one)])
        assert np.nanstd(ratio) < 1e-5

    digits = flat(read("mnist", "train").pixels).double().numpy()
    centre = digits.mean(0)
    axes = np.linalg.svd(digits - centre, full_matrices=False)[2][:CODE]
    components = x[Points.components]
    assert components == pytest.approx(centre + (components - centre) @ axes.T @ axes, abs=1e-4)
    # Each is the nearest point there of a digit of its own.
    projections = centre + (digits - centre) @ axes.T @ axes
    gaps = ((components[:, None] - projections) ** 2).sum(-1)
    assert len(set(gaps.argmin(1))) == 100
    assert gaps.min(1).max() < 1e-5
    # An autoencoder of 20 epochs is nearer to its digits than their mean is.
    own = digits[gaps.argmin(1)]
    errors = ((x[Points.reconstructions] - own) ** 2).sum(1)
    assert errors.mean() < 0.5 * ((own - centre) ** 2).sum(1).mean()
