"""Eigenpairs of a network's kernel on images, and the tasks that are made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from ntkexp import models
from ntkexp.data.eigenfunctions import Eigenfunctions
from ntkexp.data.images.dataset import channel_moments, normalised
from ntkexp.data.images.options import Standardise
from ntkexp.data.images.sources import read
from ntkexp.errors import UserError
from ntkexp.models.base import Init
from ntkexp.models.mlp import Mlp
from ntkexp.models.resnet18 import ResidualScale, Resnet18
from ntkexp.references import FromRun
from ntkexp.studies import eigenpairs
from ntkexp.studies.eigenpairs import Eigenpairs
from ntkexp.tangent import tangent_kernel
from tests.tiny_runs import train

pytestmark = pytest.mark.usefixtures("made_images")

SMALL = Mlp(depth=2, width=12, init=Init.lecun)


def images() -> torch.Tensor:
    """All of the made images of mnist as networks see them, made without the study's help."""
    pixels = [read("mnist", split).pixels for split in ("train", "test")]
    return normalised(np.concatenate(pixels), *channel_moments(pixels[0]), torch.device("cpu"))


@pytest.mark.parametrize("most", [10, 12_000])
def test_pairs_are_those_of_the_kernel_of_all_images(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By Krylov iteration as by all eigenpairs. T2 of the paper's inventory is among it."""
    monkeypatch.setattr(eigenpairs, "DENSE", most)
    study = Eigenpairs(images="mnist", network=SMALL, seed=3, count=20)
    found = study.results_of(study.compute)
    table, vectors = found["eigenpairs"], found["vectors"]
    assert isinstance(table, pd.DataFrame) and isinstance(vectors, np.ndarray)
    network = models.build(SMALL, (1, 28, 28), 1, seed=3).double()
    gram = tangent_kernel(network, images().double(), layers=False).gram.numpy()
    values = np.linalg.eigvalsh(gram)[::-1][:20]
    assert len(gram) == 360 and vectors.shape == (20, 360)
    np.testing.assert_allclose(table["eigenvalue"] * 360, values, rtol=1e-5)
    assert table["index"].tolist() == list(range(1, 21))
    assert (table["residual"] < 1e-4).all()
    for value, vector in zip(values, vectors.astype(np.float64), strict=True):
        assert np.linalg.norm(gram @ vector - value * vector) < 1e-4 * value
        assert vector[np.abs(vector).argmax()] > 0


def test_pairs_are_of_images_standardised_as_asked() -> None:
    study = Eigenpairs(images="mnist", network=SMALL, standardise=Standardise.none)
    pixels = np.concatenate([read("mnist", split).pixels for split in ("train", "test")])
    network = models.build(SMALL, (1, 28, 28), 1, seed=0).double()
    gram = tangent_kernel(network, torch.from_numpy(pixels).double() / 255, layers=False).gram
    largest = np.linalg.eigvalsh(gram.numpy())[-1] / 360
    assert study.run()["eigenpairs"]["eigenvalue"][0] == pytest.approx(largest, rel=1e-5)


@pytest.mark.parametrize(("most", "count", "kept"), [(12_000, 1000, 360), (10, 3, 3)])
def test_of_few_images_all_pairs_are_kept_and_few_pairs_are_found(
    most: int, count: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eigenpairs, "DENSE", most)
    frames = Eigenpairs(images="mnist", network=SMALL, count=count).run()
    assert len(frames["eigenpairs"]) == kept


def test_norms_have_their_first_statistics_and_small_eigenvalues_are_exact() -> None:
    """Float32 is off by more than 1e-5 of the last of these pairs."""
    config = Resnet18(base=4, init=Init.lecun, residual_scale=ResidualScale.zero)
    study = Eigenpairs(images="mnist", network=config, count=60)
    found = study.results_of(study.compute)
    network = models.build(config, (1, 28, 28), 1, seed=0).double().eval()
    gram = tangent_kernel(network, images().double(), layers=False).gram.numpy()
    values = np.linalg.eigvalsh(gram)[::-1][:60]
    assert values[-1] < 1e-4 * values[0]
    table = found["eigenpairs"]
    assert isinstance(table, pd.DataFrame)
    np.testing.assert_allclose(table["eigenvalue"] * 360, values, rtol=1e-5)


def test_eigenfunctions_of_training_images_are_extended_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """phi_j(x) = k(x, X) v_j / mu_j, and where x is a training image it is phi_j of it."""
    monkeypatch.setattr(eigenpairs, "ROWS", 25)
    study = Eigenpairs(images="mnist", network=SMALL, count=15, extended=True)
    found = study.results_of(study.compute)
    vectors, table = found["vectors"], found["eigenpairs"]
    assert isinstance(table, pd.DataFrame) and isinstance(vectors, np.ndarray)
    network = models.build(SMALL, (1, 28, 28), 1, seed=0).double()
    gram = tangent_kernel(network, images().double(), layers=False).gram.numpy()
    phi = vectors.astype(np.float64) * 360**0.5
    assert phi.shape == (15, 360)
    for value, function in zip(table["eigenvalue"], phi, strict=True):
        # lambda_j phi_j = the mean over training images of k(x, x') phi_j(x'), at all images.
        mean = gram[:, :300] @ function[:300] / 300
        np.testing.assert_allclose(mean, value * function, rtol=1e-3, atol=1e-4 * value)
        assert (function[:300] ** 2).mean() == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize(
    ("room", "told"),
    [(10**9, "100 images are twice the 41 weights or more"), (29_000, "the kernel of 60 images")],
)
def test_pairs_are_found_without_the_kernel_where_that_is_cheaper_and_it_is_said(
    room: int, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    inputs = torch.randn(100 if room == 10**9 else 60, 8)
    study = Eigenpairs(images="mnist", network=SMALL, count=5)
    expected = study.pairs(network, inputs)
    monkeypatch.setattr(eigenpairs, "DENSE", 10)
    monkeypatch.setattr(eigenpairs, "available_bytes", lambda: room)
    found = study.pairs(network, inputs)
    assert told in capsys.readouterr().err
    torch.testing.assert_close(found.values, expected.values, rtol=1e-5, atol=0)
    monkeypatch.setattr(eigenpairs, "available_bytes", lambda: 10**9)
    study.pairs(network, inputs[:60])
    assert not capsys.readouterr().err


def test_memory_is_counted_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eigenpairs, "DENSE", 10)
    monkeypatch.setattr(eigenpairs, "available_bytes", lambda: 1000)
    with pytest.raises(UserError, match=r"study\.train_examples=None: needs .* 360 images"):
        Eigenpairs(images="mnist", network=SMALL, count=20).compute()


STUDY = (
    "study=eigenpairs",
    "+model@study.network=mlp",
    "study.images=mnist",
    "study.count=20",
    "study.network.width=12",
)


@pytest.fixture
def pairs(tmp_path: Path) -> FromRun:
    folder = train(tmp_path, *STUDY, command="study")
    return FromRun("given", None, "vectors.npy", "", str(folder))


def test_labels_are_the_signs_of_an_eigenfunction(pairs: FromRun) -> None:
    task = Eigenfunctions(images="mnist", pairs=pairs, index=7)
    dataset = task.build(0, torch.device("cpu"), progress=False)
    vector = np.load(pairs.path)[6]
    labels = torch.cat([dataset.train.targets, dataset.test.targets]).numpy()
    assert (labels == (vector > 0)).all() and 0 < labels.sum() < 360
    inputs = torch.cat([dataset.train.inputs, dataset.test.inputs])
    torch.testing.assert_close(inputs, images(), rtol=0, atol=0)
    assert (len(dataset.train), dataset.classes) == (300, 2)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"index": 21}, r"data\.index=21: .* has 20 eigenfunctions"),
        ({"test_examples": 40}, r"is about 360 images; expected 300 training and 40 test"),
        # As many in all, and others of them.
        ({"train_examples": 300}, r"is about 360 images; expected 300 training and 60 test"),
        ({"train_examples": 301}, r"train_examples=301: mnist has 300 train images"),
        (
            {"standardise": Standardise.none},
            r"data\.standardise=none: .* is about images with study\.standardise=published",
        ),
    ],
)
def test_other_tasks_than_the_run_has_are_refused(
    pairs: FromRun, options: dict[str, Any], why: str
) -> None:
    task = Eigenfunctions(images="mnist", pairs=pairs, **options)
    with pytest.raises(UserError, match=why):
        task.build(0, torch.device("cpu"), progress=False)


def test_a_task_without_eigenfunctions_is_refused_before_anything_is_read() -> None:
    with pytest.raises(UserError, match=r"data\.pairs\.run: has no value"):
        Eigenfunctions().check()
