"""torchvision imports beside a torch that its compiled part was not built for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ntkexp.data.images.torchvision import torchvision_datasets

BREAK = """
import torch
def refuse(path):  # as beside a torch of another build
    raise OSError("undefined symbol")
torch.ops.load_library = refuse
"""
USE = """
import sys, ntkexp.data, ntkexp.models
from ntkexp.data.images.torchvision import torchvision_datasets
assert "torchvision" not in sys.modules  # which takes a second, and seldom is needed
datasets = torchvision_datasets()
assert datasets is torchvision_datasets()
print(datasets.MNIST.__name__, datasets.CIFAR10.__name__)
"""


@pytest.mark.on_demand
def test_torchvision_datasets_import_where_its_operators_are_missing() -> None:
    command = [sys.executable, "-W", "ignore", "-c", BREAK + USE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "MNIST CIFAR10"


@pytest.mark.filterwarnings("ignore")
def test_torchvision_datasets_import_as_installed() -> None:
    assert torchvision_datasets().MNIST.__name__ == "MNIST"
