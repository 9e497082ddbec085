"""The sampled delta function."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ntkexp import data
from ntkexp.data.delta import Delta
from ntkexp.theory.spectral.dft import coefficients


def test_all_frequencies_are_there_alike() -> None:
    train = data.load(Delta(), 0, torch.device("cpu"), progress=False).train
    assert train.inputs[train.targets == 1].item() == 0.5
    spectrum = np.abs(coefficients(train.targets.double().numpy())) / 2
    assert spectrum == pytest.approx(np.full(101, 0.005))
