"""Runs one training job again and again, each time killed at a random moment, until it ends.

    python kill_driver.py SEED LONGEST_SECONDS WORD...      the words of `ntkexp`

A child is forked for every attempt: a real process and a real SIGKILL, without paying for the
imports each time. Prints how many attempts were killed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time

import hydra  # noqa: F401
import pandas  # noqa: F401
import scipy.sparse.linalg  # noqa: F401
import torch

import ntkexp.training.experiment  # noqa: F401
from ntkexp.cli import main

torch.set_num_threads(1)


def attempt(words: list[str], seconds: float) -> bool:
    """Whether the job ended before it was killed."""
    child = os.fork()
    if child == 0:
        os._exit(main(words))
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0, f"exit status {status}"
            return True
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


if __name__ == "__main__":
    rng = random.Random(int(sys.argv[1]))
    longest, kills = float(sys.argv[2]), 0
    while not attempt(sys.argv[3:], rng.uniform(0, longest) * (1 + max(0, kills - 3) / 2)):
        kills += 1
    print(kills)
