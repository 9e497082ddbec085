"""Freed memory is used again without being touched for the first time again."""

from __future__ import annotations

import subprocess
import sys

import pytest

MEASURE = """
import resource, sys, torch
from ntkexp.execution.process import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
def work():
    # 33.6 MB: what a first layer of VGG19 or ResNet18 gives on 128 images.
    torch.ones(128, 64, 32, 32)
for _ in range(20):
    work()  # it takes some rounds until the heap has grown where it is needed
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    work()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(mode: str) -> int:
    words = [sys.executable, "-c", MEASURE, mode]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="page faults are counted so on Linux only")
def test_pages_are_touched_for_the_first_time_once() -> None:
    pages = 128 * 64 * 32 * 32 * 4 // 4096
    assert faults("keep") < pages < 5 * pages <= faults("leave")
