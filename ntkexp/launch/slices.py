"""A slice: runs that an engine sends to some machine, which carries them out as a local sweep.

There a process of its own does it, since a worker may be a thread of a daemon, where nothing may be
forked and no signal handled. It divides that machine's cores and GPUs among the runs, so engines
know nothing of them; when its worker dies it gets SIGTERM, and the runs commit and end.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig, OmegaConf

from ntkexp import machine

if TYPE_CHECKING:
    from ntkexp.compose.plan import Plan
    from ntkexp.config import Launcher
    from ntkexp.launch.job import Job, Outcome

MAIN = "from ntkexp.launch import slices; slices.main()"
MANY = 1_000  # runs, more than any machine has room for


@dataclass(frozen=True)
class Slice:
    """The runs, packed, and the folder to which their paths are relative."""

    folder: str
    work: bytes


@dataclass(frozen=True)
class Answer:
    """How each run of a slice ended, the reason and the log to read; the seconds until the first
    began, and those of all."""

    ends: Sequence[tuple[Outcome, str, Path | None]]
    start_seconds: float
    seconds: float


class SliceLost(Exception):
    """The process of a slice ended without an answer."""


def prepared(jobs: Sequence[Job], config: DictConfig) -> DictConfig:
    """The part of a sweep's config that slices ask for.

    What is to be done again (--rerun) is cleared here and now: a slice that is sent a second time
    must not begin again.
    """
    from ntkexp.results.store import Run

    for job in jobs:
        if job.plan.config.rerun:
            with Run(job.folder, ()) as earlier:
                earlier.clear()
            job.plan.config.rerun = False
    asked = OmegaConf.masked_copy(config, ["launcher", "device", "progress"])
    asked.progress = False
    return asked


def packed(jobs: Sequence[Job], config: DictConfig, patience_seconds: float) -> Slice:
    """A slice of a sweep. It waits so long for runs that other processes hold."""
    plans = [job.plan for job in jobs]
    return Slice(str(Path.cwd()), pickle.dumps((plans, config, patience_seconds)))


def settle(jobs: Sequence[Job], answer: Answer) -> None:
    """Set the outcomes of the jobs of a slice to what it answered."""
    from ntkexp.launch.job import Outcome

    for job, (outcome, reason, log) in zip(jobs, answer.ends, strict=True):
        # Done already by an earlier life of the same slice.
        job.outcome = Outcome.finished if outcome is Outcome.already else outcome
        job.reason, job.log = reason, log


def begun(part: Slice) -> subprocess.Popen[bytes]:
    """The process of a slice, which has begun."""
    words = [sys.executable, "-c", MAIN, str(os.getpid()), str(time.time())]
    pipe = subprocess.PIPE
    return subprocess.Popen(words, cwd=part.folder, stdin=pipe, stdout=pipe)


def ended(process: subprocess.Popen[bytes], part: Slice) -> bytes:
    """Its answer, packed; an error of its own is raised here."""
    told, _ = process.communicate(part.work)
    if not told:
        raise SliceLost(f"the process of the runs ended with code {process.returncode}")
    return told


def carry_out(part: Slice) -> bytes:
    """Carry out a slice on this machine; its answer, packed."""
    return ended(begun(part), part)


def unpacked(told: bytes) -> Answer:
    answer = pickle.loads(told)
    if isinstance(answer, str):
        raise SliceLost(answer)
    assert isinstance(answer, Answer)
    return answer


def room(launcher: Launcher, device: str) -> int:
    """The number of runs that this machine carries out at once."""
    from ntkexp.launch.local import slots

    return len(slots(launcher, MANY, gpus=machine.gpus_for(device)))


def main() -> None:
    """In the slice's process: takes the slice from standard input, and answers."""
    # SLURM's word to the worker, which reaches every process of a job.
    signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    machine.end_with_parent()
    if os.getppid() != int(sys.argv[1]):
        return
    answer = os.dup(1)
    os.dup2(2, 1)  # what is printed is no answer
    try:
        told: Answer | str = _carried_out(*pickle.load(sys.stdin.buffer))
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
    with os.fdopen(answer, "wb") as stream:
        pickle.dump(told, stream)


def _carried_out(plans: Sequence[Plan], config: DictConfig, patience_seconds: float) -> Answer:
    from ntkexp.execution.prepare import preload
    from ntkexp.launch import local
    from ntkexp.launch.job import Job, Outcome, look_up

    preload(plans[0])  # what takes its time is loaded once
    start_seconds, began = time.time() - float(sys.argv[2]), time.monotonic()
    jobs = [Job(plan.folder.name, plan) for plan in plans]
    for job in jobs:
        look_up(job, retry_failed=config.launcher.retry_failed)
    if waiting := [job for job in jobs if job.outcome is Outcome.waiting]:
        local.run(waiting, config, patience_seconds=patience_seconds)
    ends = [(job.outcome, job.reason, job.log) for job in jobs]
    return Answer(ends, start_seconds, time.monotonic() - began)
