"""The probe's energies beside those of all eigenvectors of the kernel in float64."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from ntkexp import models
from ntkexp.data.cifar2 import Cifar2
from ntkexp.models.mlp import Mlp
from ntkexp.probes import energy_concentration
from ntkexp.probes.energy_concentration import EnergyConcentration
from ntkexp.seeds import generator
from ntkexp.tangent import tangent_kernel
from tests.tiny_runs import TINY, train

pytestmark = pytest.mark.usefixtures("made_images")

WORDS = (
    *(word for word in TINY if "examples" not in word),
    *("data=cifar2", "data.train_examples=60", "data.test_examples=30", "probing.examples=60"),
    *("model=mlp", "model.depth=2", "model.width=8", "objective=binary", "optim.steps=5"),
    *("probe=[energy_concentration]", "probe.energy_concentration.count=16"),
)


def test_it_is_the_energy_in_the_leading_eigenvectors(tmp_path: Path) -> None:
    run = train(tmp_path, *WORDS)
    table = pd.read_parquet(run / "energy_concentration.parquet").set_index("step")
    data = Cifar2(train_examples=60, test_examples=30).build(0, torch.device("cpu"), progress=False)
    network = models.build(Mlp(depth=2, width=8), (3, 32, 32), 1, seed=0).double()
    gram = tangent_kernel(network, data.train.inputs.double()).gram
    vectors = torch.linalg.eigh(gram)[1][:, -16:]
    labels = 2.0 * data.train.targets.double() - 1
    expected = float((vectors.t() @ labels).norm() / labels.norm())
    assert table.loc[0, "labels"] == pytest.approx(expected, rel=1e-5)
    assert table.loc[0, "count"] == 16 and len(table) > 1
    assert 0 < table.loc[0, "random"] < 1


def test_krylov_vectors_span_what_all_eigenvectors_do() -> None:
    spectrum = torch.arange(1, 301).double() ** -1.1
    q = torch.linalg.qr(torch.randn(300, 300, generator=generator(0, "test")).double())[0]
    gram = (q * spectrum) @ q.t()
    probe = EnergyConcentration(count=10)
    assert energy_concentration.BASIS * 10 < 300
    vectors = probe.vectors(gram.float(), generator(1, "test"))
    # The sines of the angles between both spaces.
    outside = vectors - q[:, :10] @ (q[:, :10].t() @ vectors)
    assert outside.norm(dim=0).max() < 0.05


def test_of_all_eigenvectors_it_is_one() -> None:
    gram = torch.eye(6) + 1
    vectors = EnergyConcentration(count=50).vectors(gram, generator(0, "test"))
    assert vectors.shape == (6, 6)
    np.testing.assert_allclose(vectors.t() @ vectors, np.eye(6), atol=1e-12)
