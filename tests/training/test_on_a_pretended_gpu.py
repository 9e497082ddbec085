"""What runs do on a GPU, on every machine: tests/pretended/, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.utils import backend_registration

HOME = Path(__file__).parents[2]


pytestmark = pytest.mark.skipif(
    not hasattr(backend_registration, "_setup_privateuseone_for_python_backend"),
    reason=f"PyTorch {torch.__version__} cannot make a device in Python",
)


def pretended(*words: str) -> None:
    command = [sys.executable, "-m", "tests.pretended", *words]
    done = subprocess.run(command, cwd=HOME, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_runs_on_a_pretended_gpu() -> None:
    pretended()


@pytest.mark.on_demand
def test_the_other_kinds_of_runs_there() -> None:
    pretended("-m", "on_demand")
