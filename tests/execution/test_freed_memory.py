"""Freed memory is used again without being touched for the first time again."""

from __future__ import annotations

import subprocess
import sys

import pytest

MEASURE = """
import resource, torch
from ntkexp.execution.process import keep_freed_memory
def touched():
    # 33.6 MB: what a first layer of VGG19 or ResNet18 gives on 128 images.
    for _ in range(20):
        torch.ones(128, 64, 32, 32)  # it takes some rounds until the heap has grown
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        torch.ones(128, 64, 32, 32)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
left = touched()
keep_freed_memory()
print(left, touched())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="page faults are counted so on Linux only")
def test_pages_are_touched_for_the_first_time_once() -> None:
    done = subprocess.run([sys.executable, "-c", MEASURE], capture_output=True, text=True)
    left, kept = map(int, done.stdout.split())
    pages = 128 * 64 * 32 * 32 * 4 // 4096
    assert kept < pages < 5 * pages <= left
