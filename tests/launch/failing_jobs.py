"""`ntkexp` with jobs that fail in every way, by their seed: see HOW."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence

import torch

from ntkexp.cli import main
from ntkexp.errors import Interrupted
from ntkexp.training.loop import Loop
from ntkexp.training.supervised import Supervised

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
go = Loop.go


def fails_sometimes(loop: Loop, stop_asked: StopAsked) -> None:
    assert isinstance(loop.work, Supervised)
    seed = loop.work.config.seed
    if seed in HOW and not os.environ.get("MENDED"):
        HOW[seed](stop_asked)
    go(loop, stop_asked)


def fails_by_seed(words: Sequence[str]) -> int:
    """The command of these words, in a process of its own."""
    Loop.go = fails_sometimes  # type: ignore[method-assign]
    return main(words)
