"""The threads that a run computes with: how many, and how they wait (docs/threads.md).

The number is decided at a run's first life and kept for all its lives: sums are taken in another
order by other numbers of threads, and a run that goes on must be the run that it was.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ntkexp.machine import cores

if TYPE_CHECKING:
    from omegaconf import DictConfig

# A thread that has to wait spins for 3,000 rounds, then sleeps: on idle cores as quick as endless
# spinning, beside busy processes eight times as quick as 100,000 rounds (docs/measured/). libgomp
# (PyTorch's wheels for Linux) obeys the first two; KMP_BLOCKTIME, for other builds, was not tried.
WAITING = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "3000", "KMP_BLOCKTIME": "0"}

# The cost of another thread to a step, .7 ms, as multiplications that one core does in that time
# (measured in processor time on an AMD EPYC Zen 3 with PyTorch 2.13).
A_THREAD = 25_000_000

_share: int | None = None


@dataclass(frozen=True)
class Wanted:
    """A number of threads; `said` is what the user wrote to have it, "" where work decided."""

    number: int
    said: str = ""


def set_waiting(environment: MutableMapping[str, str] = os.environ) -> None:
    """Let OpenMP's threads sleep soon while they wait, unless the user has said how they should.

    It is read when torch is loaded, so this comes before.
    """
    if not WAITING.keys() & environment.keys():
        environment.update(WAITING)


def wanted(config: DictConfig) -> Wanted:
    """The threads for a run in this process: `launcher.threads`, else OMP_NUM_THREADS, else by the
    work of a step.

    A job of a sweep has no more than its share of the cores, whatever was said.
    """
    if threads := config.launcher.threads:
        choice = Wanted(threads, f"launcher.threads={threads}")
    elif exported := exported_threads():
        choice = Wanted(exported, f"OMP_NUM_THREADS={exported}")
    else:
        return Wanted(by_work(multiplications_of_a_step(config), _share or cores()))
    return choice if _share is None else Wanted(min(choice.number, _share), choice.said)


def exported_threads() -> int | None:
    """The user's OMP_NUM_THREADS; OpenMP allows a list, whose first number is for the outermost
    level. None where it is absent or no number, as libgomp takes it."""
    text = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(text) if text.isdigit() and int(text) else None


def by_work(work: int | None, cores: int) -> int:
    """The number of threads that pay for a step of `work` multiplications, at most one a core.

    A step on k threads takes work / k and what k - 1 threads cost, so the k-th saves
    work / (k - 1) - work / k = work / (k (k - 1)), and pays while that is A_THREAD or more.

    What is not known (a network of the user's own, a study) gets every core: where the work is
    large, one thread would be too slow.

    >>> by_work(28_000_000, cores=2), by_work(492_000_000, cores=16), by_work(None, cores=2)
    (1, 4, 2)
    """
    if work is None:
        return cores
    return max(1, min(cores, int((1 + math.sqrt(1 + 4 * work / A_THREAD)) / 2)))


def multiplications_of_a_step(config: DictConfig) -> int | None:
    """The multiplications of one update of one network; None where they are not known.

    Backpropagation takes as many as the forward pass for the gradient by the weights and once more
    for that by the inputs (Baydin et al. 2018, https://arxiv.org/abs/1502.05767, section 3.2, have
    the bound). Activations, norms and the update itself are left out.
    """
    from omegaconf import OmegaConf  # every command imports this file, --help too

    if "model" not in config:
        return None
    data, model = OmegaConf.to_object(config.data), OmegaConf.to_object(config.model)
    shape = data.shape()  # type: ignore[union-attr]
    if shape is None or shape.examples is None:
        return None
    forward = model.multiplications(shape.inputs, shape.outputs)  # type: ignore[union-attr]
    batch = min(config.optim.batch_size or shape.examples, shape.examples)
    return None if forward is None else 3 * batch * forward


def of_life(kept: int | None, wanted: Wanted) -> tuple[int, str | None]:
    """The threads of a life whose run was begun with `kept`, and a line for stderr where the
    user has said otherwise.

    >>> of_life(2, Wanted(1, "OMP_NUM_THREADS=1"))[1]
    'OMP_NUM_THREADS=1: this run was begun with 2 threads and keeps them (--rerun begins anew)'
    """
    if kept is None:
        return wanted.number, None
    if not wanted.said or wanted.number == kept:
        return kept, None
    begun = f"{kept} threads and keeps them" if kept > 1 else "1 thread and keeps it"
    return kept, f"{wanted.said}: this run was begun with {begun} (--rerun begins anew)"


def share(number: int) -> None:
    """Tell this process that it is a job of a sweep, which may use so many cores."""
    global _share
    _share = number


def use(number: int) -> None:
    """Compute with `number` threads from now on: torch, and numpy's and scipy's algebra.

    To be called when torch is loaded. What of numpy and scipy is loaded later reads the variable.
    """
    os.environ["OPENBLAS_NUM_THREADS"] = str(number)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(number)
    if "numpy" in sys.modules:
        from threadpoolctl import threadpool_limits

        threadpool_limits(number)
