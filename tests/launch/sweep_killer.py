"""Gives one sweep command again and again while killing its jobs and its launcher, until it ends.

    python sweep_killer.py SEED KILLS WORD...      the words of `ntkexp`

The moments are random, the order is not: every fourth kill is the launcher's, from the second on.

Every attempt is a fork of this process: real processes and real SIGKILLs, without paying for the
imports each time. Prints how many launchers and how many jobs were killed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import hydra  # noqa: F401
import pandas  # noqa: F401
import scipy.sparse.linalg  # noqa: F401
import torch

import ntkexp.training.experiment  # noqa: F401
from ntkexp.cli import main

torch.set_num_threads(1)


def children(pid: int) -> list[int]:
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []


def attempt(words: list[str], rng: random.Random, kills: Counter[str], most: int) -> int | None:
    """The exit code of the launcher; None when it was killed."""
    launcher = os.fork()
    if launcher == 0:
        os._exit(main(words))
    while True:
        deadline = time.monotonic() + rng.uniform(0.02, 0.3)
        while time.monotonic() < deadline:
            done, status = os.waitpid(launcher, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.005)
        jobs = children(launcher)
        if not jobs or kills["launcher"] + kills["job"] >= most:
            continue
        if kills["launcher"] * 3 <= kills["job"] - 1:
            os.kill(launcher, signal.SIGKILL)
            os.waitpid(launcher, 0)
            kills["launcher"] += 1
            return None
        try:
            os.kill(rng.choice(jobs), signal.SIGKILL)
            kills["job"] += 1
        except ProcessLookupError:
            pass  # it ended by itself in between


if __name__ == "__main__":
    seed, most, words = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    rng, kills = random.Random(seed), Counter[str]()
    while (code := attempt(words, rng, kills, most)) != 0:
        assert code is None or (code == 1 and kills.total()), f"exit code {code}"
        kills["attempt"] += 1
        assert kills["attempt"] < 50, "it never ends"
    print(kills["launcher"], kills["job"])
