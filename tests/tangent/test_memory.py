"""Memory stays inside the budget, measured as the peak of a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

MEASURE = """
import re, sys, torch
from torch import nn
from ntkexp.tangent import tangent_kernel
budget = int(sys.argv[1])
def peak():
    # Of this program alone: ru_maxrss would begin with that of the process that forked it.
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1),
                      nn.ReLU(), nn.Flatten(), nn.Linear(16 * 32 * 32, 10))
inputs = torch.randn(40, 3, 32, 32)
tangent_kernel(model, inputs[:3])
before = peak()
kernel = tangent_kernel(model, inputs, layers=False, budget_bytes=budget)
after = peak()
print(1024 * (after - before) - kernel.gram.nbytes)
"""


def grown_bytes(budget_bytes: int) -> int:
    words = [sys.executable, "-c", MEASURE, str(budget_bytes)]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is in kilobytes on Linux only")
def test_peak_memory_is_the_budget() -> None:
    """The net wants 52 MB for its output gradients alone."""
    budget = 40 * 2**20
    # Where tensors begin within huge pages is chance, and moves the peak by up to a quarter.
    tries = (grown_bytes(budget) for _ in range(3))
    assert any(grown < 1.25 * budget for grown in tries)
    assert 1.25 * budget < grown_bytes(2**30)
