"""`ntkexp` with jobs that fail in every way, by their seed: see HOW.

python failing_jobs.py WORD...
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from ntkexp.cli import main
from ntkexp.errors import Interrupted
from ntkexp.training import experiment

StopAsked = Callable[[], bool]


def raises(stop_asked: StopAsked) -> None:
    raise RuntimeError("the well is dry")


def is_killed(stop_asked: StopAsked) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wants_too_much_memory(stop_asked: StopAsked) -> None:
    torch.empty(1 << 60)


def waits(stop_asked: StopAsked) -> None:
    while not stop_asked():
        time.sleep(0.02)
    raise Interrupted


HOW = {3: raises, 4: is_killed, 5: wants_too_much_memory, 6: waits}
train = experiment.train


def fails_sometimes(
    prepared: Any, run: Any, checkpoint: bytes | None, stop_asked: StopAsked
) -> None:
    seed = prepared.config.seed
    if seed in HOW and not os.environ.get("MENDED"):
        HOW[seed](stop_asked)
    train(prepared, run, checkpoint, stop_asked)


if __name__ == "__main__":
    experiment.train = fails_sometimes
    sys.exit(main(sys.argv[1:]))
