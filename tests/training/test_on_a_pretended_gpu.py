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


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("on_runs.py", "on_graphs.py", "on_memory.py", "on_blocks.py"),
        pytest.param(("on_runs.py", "-m", "on_demand"), marks=pytest.mark.on_demand),
    ],
    ids=" ".join,
)
def test_runs_on_a_pretended_gpu(words: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "tests.pretended", *words]
    done = subprocess.run(command, cwd=HOME, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
