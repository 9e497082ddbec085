"""Noise on the targets of digits, and its parts along a kernel's eigenvectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from ntkexp import data
from ntkexp.data.dataset import Dataset
from ntkexp.data.noisy_digits import Noise, NoisyDigits
from ntkexp.objectives.squared_error import SquaredErrorLoss
from ntkexp.probes.kernel_spectrum import KernelSpectrum
from ntkexp.probes.view import NetworkView
from ntkexp.theory.spectral.kernel_basis import basis
from tests.data.conftest import MadeUp


def made(**options: Any) -> Dataset:
    sizes = {"train_examples": 12, "test_examples": 8}
    config = NoisyDigits(**{**sizes, **options})
    return data.load(config, 0, torch.device("cpu"), progress=False)


@pytest.fixture(autouse=True)
def digits(made_up: MadeUp) -> None:
    made_up.parquet("mnist", train=100)


def noise(dataset: Dataset) -> np.ndarray:
    return (dataset.train.targets - dataset.train.clean_targets).double().numpy()


def test_a_radial_wave_is_the_sine_of_the_norm_and_tests_have_none() -> None:
    dataset = made(noise=Noise.radial, frequency=2.0, amplitude=0.5)
    norms = dataset.train.inputs.flatten(1).norm(dim=1).double().numpy()
    assert noise(dataset) == pytest.approx(0.5 * np.sin(2 * norms), abs=1e-5)
    assert 0 <= dataset.train.inputs.min() < 0.1 < 0.9 < dataset.train.inputs.max() <= 1
    assert set(dataset.test.targets.tolist()) == {0.0, 1.0}
    assert len(dataset.test) == 8
    train, test = dataset.train.inputs.flatten(1), dataset.test.inputs.flatten(1)
    assert torch.cdist(test, train).min() > 1


def test_the_controls_have_no_offset_or_lie_along_the_axis_of_most_variance() -> None:
    radial, centred = (
        noise(made(noise=kind, frequency=0.1)) for kind in (Noise.radial, Noise.centred)
    )
    assert centred == pytest.approx(radial - radial.mean(), abs=1e-6)
    dataset = made(noise=Noise.axis, frequency=0.01)
    x = dataset.train.inputs.flatten(1).double().numpy()
    U, S, _ = np.linalg.svd(x - x.mean(0), full_matrices=False)
    wave = np.sin(0.01 * S[0] * U[:, 0])
    assert np.abs(noise(dataset)) == pytest.approx(np.abs(wave), abs=1e-6)


def test_kernel_noise_rises_with_n_and_the_probe_finds_it() -> None:
    dataset = made(noise=Noise.kernel, width=0.5, amplitude=2.0)
    vectors = basis(dataset.train.inputs.flatten(1).double().numpy(), 0.5)
    n = np.arange(1, 13)
    assert noise(dataset) @ vectors == pytest.approx(2 * (n / 12) ** 2, abs=1e-5)
    assert torch.equal(dataset.test.inputs, dataset.train.inputs)
    assert torch.equal(dataset.test.targets, dataset.train.clean_targets)

    facts: Any = {"step": 0, "seed": 0, "last": False}
    network = nn.Sequential(nn.Flatten(), nn.Linear(784, 1))
    view = NetworkView(network, dataset, SquaredErrorLoss(1), **facts)
    found = KernelSpectrum(width=0.5).measure(view)["kernel_spectrum"]
    assert found["n"] == pytest.approx(n)
    assert found["noise"] == pytest.approx(4 * (n / 12) ** 4 / 12, rel=1e-4)
    with torch.no_grad():
        error = network(dataset.train.inputs)[:, 0] - dataset.train.clean_targets
        left = error - (dataset.train.targets - dataset.train.clean_targets)
    for name, of in (("error", error), ("left", left)):
        assert np.sum(found[name]) == pytest.approx(of.square().mean().item(), rel=1e-4)
