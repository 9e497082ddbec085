"""Representations of the Fisher matrix beside dense ones, and the kernel of two classes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn

from ntkexp.curvature import Vector, fisher
from ntkexp.data.dataset import Dataset, Split
from ntkexp.errors import UserError
from ntkexp.objectives.cross_entropy import CrossEntropyLoss
from ntkexp.probes.class_pairs import ClassPairs, accuracy_of_line, principal_components
from ntkexp.probes.representations import KINDS, Representations, largest_eigenvalue
from ntkexp.probes.view import NetworkView
from tests.curvature.truth import CLASSES, gradients, matrix, mlp


def seen(network: nn.Module, n: int = 12) -> tuple[NetworkView, Tensor, Tensor]:
    torch.manual_seed(1)
    inputs, targets = torch.randn(n, 4, dtype=torch.float64), torch.arange(n) % CLASSES
    split = Split.clean(inputs, targets)
    dataset = Dataset("made", split, split, CLASSES, (4,), {})
    view = NetworkView(network, dataset, CrossEntropyLoss(CLASSES), step=0, seed=0, last=True)
    return view, inputs, targets


@pytest.fixture
def network() -> nn.Module:
    torch.manual_seed(0)
    return mlp().double()


def test_numbers_are_those_of_dense_matrices(network: nn.Module) -> None:
    view, x, y = seen(network)
    rows = Representations(examples=12, directions=2).measure(view)
    products, solves, traces = (pd.DataFrame(rows[table]) for table in rows)
    F = matrix(network, x, y, "exact")
    assert traces["exact"].to_numpy() == pytest.approx(float(F.trace()))
    assert len(products) == 2 * len(KINDS) * 2
    for kind in KINDS:
        near = fisher(network, [(x, y)], kind).to_dense()
        trace = traces[(traces["of"] == "exact") & (traces["kind"] == kind)].iloc[0]
        assert trace["trace"] == pytest.approx(float(near.trace()))
        assert trace["sampling"] == 0
    assert solves["cosine"].between(-1, 1).all()
    assert (traces[traces["of"] == "mc"]["sampling"] > 0).all()
    # With damping as large as F itself every representation gives back nearly what it was given.
    large = solves[solves["damping"] == 1].groupby("kind")["cosine"].mean()
    small = solves[solves["damping"] == 1e-6].groupby("kind")["cosine"].mean()
    assert (large > small).all() and (large > 0.9).all()


def test_the_largest_eigenvalue_is_found_from_that_of_ekfac(network: nn.Module) -> None:
    _, x, y = seen(network)
    exact, near = (fisher(network, [(x, y)], kind) for kind in ("implicit", "ekfac"))
    v = Vector.random(network, torch.Generator().manual_seed(0))
    truth = float(torch.linalg.eigvalsh(matrix(network, x, y, "exact"))[-1])
    assert largest_eigenvalue(exact, near, v) == pytest.approx(truth, rel=0.05)


def test_the_kernel_of_two_classes_is_that_of_their_difference(network: nn.Module) -> None:
    view, x, y = seen(network)
    found = ClassPairs(pairs=1, examples=3).measure(view)
    images = torch.cat([x[y == 0][:3], x[y == 1][:3]])
    rows = gradients(network, network(images)[:, 1] - network(images)[:, 0])
    cosines = torch.nn.functional.normalize(rows) @ torch.nn.functional.normalize(rows).t()
    kernel = found["class_pair_kernel"]["value"]
    np.testing.assert_allclose(np.reshape(kernel, (6, 6)), cosines, atol=1e-6)
    components = found["class_pair_components"]
    assert components["label"] == [0, 0, 0, 1, 1, 1]


def test_components_and_a_line_tell_two_heaps_apart() -> None:
    points = np.array([[0, 0.0], [0, 1], [5, 0], [5, 1]])
    plane = principal_components(points @ points.T)
    distances = np.linalg.norm(plane[:, None] - plane, axis=2)
    np.testing.assert_allclose(distances, np.linalg.norm(points[:, None] - points, axis=2))
    assert accuracy_of_line(plane, np.array([0, 0, 1, 1])) == 1
    assert accuracy_of_line(plane, np.array([0, 1, 1, 0])) <= 0.75


def test_classes_that_there_are_not_end_in_a_line(network: nn.Module) -> None:
    view, _, _ = seen(network)
    with pytest.raises(UserError, match=r"class_pairs.pairs=5: no test image of class 3"):
        ClassPairs().measure(view)
