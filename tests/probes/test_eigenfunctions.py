"""The leading eigenpairs are those of a dense decomposition of the whole kernel."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from ntkexp.data import Dataset, Split
from ntkexp.objectives.binary import BinaryLoss
from ntkexp.probes import NetworkView
from ntkexp.probes.eigenfunctions import Eigenfunctions
from ntkexp.tangent import tangent_kernel
from ntkexp.theory.alignment import centre


def test_they_are_those_of_a_dense_decomposition() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU())
    model.append(nn.Linear(40, 1))
    line = torch.linspace(-1, 1, 15)
    points = torch.cartesian_prod(line, line)
    labels = (points.norm(dim=1) < 0.7).long()
    split = Split(points, labels, labels, torch.zeros_like(labels), torch.zeros_like(labels))
    dataset = Dataset("disk", split, split, 2, (2,), {})
    view = NetworkView(model, dataset, BinaryLoss(), step=1, seed=0, last=False, batches={})
    rows = Eigenfunctions(count=6).measure(view)
    gram = centre(tangent_kernel(model, points).gram.double().numpy(), 1, "class")
    values, vectors = np.linalg.eigh(gram)
    found = rows["eigenfunctions"]["value"].reshape(6, -1)
    expected = vectors[:, ::-1][:, :6].T * np.sqrt(len(gram))
    np.testing.assert_allclose(rows["eigenvalues"]["eigenvalue"], values[::-1][:6], rtol=1e-6)
    signs = np.sign((found * expected).sum(1, keepdims=True))
    np.testing.assert_allclose(found, signs * expected, atol=1e-6 * np.abs(expected).max())
