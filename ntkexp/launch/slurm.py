"""One array of SLURM jobs, through submitit: docs/cluster.md."""

from __future__ import annotations

import contextlib
import io
import logging
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from omegaconf import DictConfig

from ntkexp.config import FOLDER, Launcher
from ntkexp.errors import UserError
from ntkexp.execution.outcome import DONE
from ntkexp.launch.job import BROKEN, Job, Outcome, set_outcome
from ntkexp.launch.slices import (
    Slice,
    SliceLost,
    begun,
    ended,
    packed,
    prepared,
    settle,
    unpacked,
)
from ntkexp.options import count, one_of, option, whole
from ntkexp.progress import Progress
from ntkexp.results.lock import SILENT_SECONDS

# Of an array, with SLURM's defaults.
ELEMENTS = 1_000
POLL_SECONDS = 1.0
LOOK_SECONDS = 10.0
# A job that came to its end is out of the queue before every machine sees what it wrote.
PATIENCE_SECONDS = 30.0
LEFT = "left the queue without a result: it was cancelled, or lost with its node"


@dataclass
class Slurm(Launcher):
    cluster: str = option("slurm", one_of("slurm", "local"), "local stands in for slurm in tests")
    partition: str | None = option(None, about="where jobs go; null: where the cluster puts them")
    gpus: int | None = option(None, whole(0, 1000, "GPUs", null=""), "GPUs of a job")
    cpus: int = option(2, count("cores", most=10_000), "cores of a job")
    memory_gb: int | None = option(None, count("gigabytes", null="", most=1_000_000), "of a job")
    minutes: int = option(240, count("minutes", most=1_000_000), "time limit of a job")
    array: int = option(256, count("jobs at once", most=1_000_000), "jobs that run at once")
    notice_seconds: int = option(120, count("seconds", most=1_000_000), "warning before the limit")
    requeues: int = option(100, whole(0, 1_000_000, "times"), "how often such a job comes back")
    runs: int | None = option(
        None, count("runs", null=""), "of a job; null: so many that an array has at most 1,000 jobs"
    )
    folder: str = option("${paths.outputs}/.submitit/%j", FOLDER, "where SLURM writes its logs")
    sbatch: dict[str, Any] = option({}, about="further options of sbatch, by their long names")

    def memory_bytes(self) -> int | None:
        return self.memory_gb and self.memory_gb * 2**30

    def run(self, jobs: Sequence[Job], config: DictConfig, done_before: int) -> int:
        """Submit the jobs and wait for them. Returns 130 if the user did not wait."""
        executor = _executor(self)  # before anything is written
        length = self._length(len(jobs))
        parts = [jobs[at : at + length] for at in range(0, len(jobs), length)]
        config = prepared(jobs, config)
        # A life that was killed on another node looks alive until its lock goes stale.
        work = [SlurmJob(packed(part, config, SILENT_SECONDS + 60)) for part in parts]
        submitted = _submitted(executor, work)
        ids = " to ".join(dict.fromkeys(submitted[end].job_id for end in (0, -1)))
        each = f" of {length} runs" if length > 1 else ""
        print(f"submitted {len(parts)} job{'s' if len(parts) > 1 else ''}{each}: {ids}")
        waiting = dict(zip(submitted, parts, strict=True))
        total = done_before + len(jobs)
        with Progress("sweep", total, start=done_before, shown=config.progress) as progress:
            before = signal.signal(signal.SIGINT, signal.default_int_handler)
            try:
                _wait(waiting, progress, Queue() if self.cluster == "slurm" else None)
            except KeyboardInterrupt:
                stay = "the jobs stay in the queue (scancel removes them)"
                print(f"{stay}; the same command looks again")
                return 130
            finally:
                signal.signal(signal.SIGINT, before)
        return DONE

    def _length(self, runs: int) -> int:
        """The runs of a job: an array of jobs may not be longer than the cluster allows."""
        most = most_elements() if self.cluster == "slurm" else None
        length = self.runs or math.ceil(runs / min(ELEMENTS, most or ELEMENTS))
        if most and (elements := math.ceil(runs / length)) > most:
            raise UserError(
                f"launcher.runs={length}: makes an array of {elements:,} jobs, this cluster takes "
                f"{most:,} (MaxArraySize); expected {math.ceil(runs / most)} or more"
            )
        return length


def _executor(launcher: Slurm) -> Any:
    try:
        import submitit
    except ImportError as error:
        raise UserError("launcher=slurm: needs pip install 'ntkexp[slurm]'") from error
    if launcher.cluster == "slurm" and shutil.which("srun") is None:
        raise UserError(
            "launcher=slurm: there is no SLURM on this machine (no srun on the PATH); expected "
            "launcher=local, or a login node of the cluster"
        )
    executor = submitit.AutoExecutor(
        folder=launcher.folder,
        cluster=launcher.cluster,
        slurm_max_num_timeout=launcher.requeues,
        local_max_num_timeout=launcher.requeues,
    )
    wanted = {
        "name": "ntkexp",
        "timeout_min": launcher.minutes,
        "gpus_per_node": launcher.gpus,
        "cpus_per_task": launcher.cpus,
        "mem_gb": launcher.memory_gb,
        "slurm_partition": launcher.partition,
        "slurm_array_parallelism": launcher.array,
        "slurm_signal_delay_s": launcher.notice_seconds,
        "slurm_additional_parameters": dict(launcher.sbatch) or None,
    }
    # Clusters without accounting make it complain at every look; the runs' own words are enough.
    logging.getLogger("submitit").setLevel(logging.ERROR)
    executor.update_parameters(**{k: v for k, v in wanted.items() if v is not None})
    return executor


def _submitted(executor: Any, work: Sequence[SlurmJob]) -> list[Any]:
    """The jobs of one array; where SLURM refuses it, an error in SLURM's own words."""
    from submitit.core.utils import FailedJobError, FailedSubmissionError

    try:
        # submitit prints what the exception has, too.
        with contextlib.redirect_stderr(io.StringIO()), executor.batch():
            submitted = [executor.submit(job) for job in work]
    except (FailedJobError, FailedSubmissionError, OSError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"launcher=slurm: the jobs were not taken: {reason}") from error
    return submitted


def _wait(waiting: dict[Any, Sequence[Job]], progress: Progress, queue: Queue | None) -> None:
    """Wait until all have ended, in any order; no file is read of what is in the queue."""
    while waiting:
        left = queue.left([submitted.job_id for submitted in waiting]) if queue else {}
        for submitted, jobs in list(waiting.items()):
            silent = left.get(submitted.job_id) if queue else 0.0
            if silent is None:
                continue
            if submitted.done():
                _record_answer(submitted, jobs)
            elif silent >= PATIENCE_SECONDS:
                _record_loss(submitted, jobs, f"job {submitted.job_id} {LEFT}")
            else:
                continue
            del waiting[submitted]
            progress.advance(len(jobs))
        progress.advance(0, waiting=sum(map(len, waiting.values())))
        if waiting:
            time.sleep(POLL_SECONDS)


def _record_answer(submitted: Any, jobs: Sequence[Job]) -> None:
    from submitit.core.utils import FailedJobError, UncompletedJobError

    try:
        settle(jobs, unpacked(submitted.result()))
    except (FailedJobError, UncompletedJobError, SliceLost) as error:
        last = str(error).strip().splitlines()[-1]
        _record_loss(submitted, jobs, f"job {submitted.job_id} ({submitted.state}): {last}")


def _record_loss(submitted: Any, jobs: Sequence[Job], reason: str) -> None:
    """Of a job without an answer the runs' own words count."""
    for job in jobs:
        set_outcome(job, BROKEN, reason, stopping=False)
        if job.outcome is Outcome.failed and job.log is None and submitted.paths.stderr.exists():
            job.log = submitted.paths.stderr


class Queue:
    """The jobs that have left the queue.

    Where SLURM keeps accounts, they tell of a job that was cancelled or lost with its node; on
    clusters without, that it is no longer listed is all there is to know.
    """

    def __init__(self) -> None:
        self._asked = -math.inf
        self._missed: dict[str, float] = {}  # since when

    def left(self, ids: Collection[str]) -> Mapping[str, float]:
        """Those of `ids` that are in no list, and for how many seconds."""
        now = time.monotonic()
        if now - self._asked >= LOOK_SECONDS:
            self._asked = now
            # This user's jobs, elements of arrays one by one.
            words = ("--noheader", "--array", "--format=%i", f"--user={os.getuid()}")
            if (answer := _answer("squeue", *words)) is not None:
                listed = set(answer.split())
                self._missed = {id: self._missed.get(id, now) for id in ids if id not in listed}
        return {id: now - since for id, since in self._missed.items()}


def most_elements() -> int | None:
    """The most jobs of an array, as the cluster says; None where it does not answer."""
    answer = _answer("scontrol", "show", "config") or ""
    said = re.search(r"^MaxArraySize\s*=\s*(\d+)", answer, re.MULTILINE)
    return int(said[1]) if said else None


def _answer(*words: str) -> str | None:
    """What a command of SLURM prints; None when it does not answer."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


# submitit's word for: the time is nearly up, or somebody else needs this node.
PREEMPTED = signal.SIGUSR2


@dataclass
class SlurmJob:
    """A callable that submitit pickles, sends and calls; and again after a preemption."""

    part: Slice

    def __call__(self) -> bytes:
        with _signals_to(process := begun(self.part)) as received:
            try:
                told = ended(process, self.part)
            except SliceLost:
                if not received:
                    raise
        if PREEMPTED in received:
            # Everything is committed: now submitit may put the job back into the queue.
            os.kill(os.getpid(), PREEMPTED)
        if received:
            # Whoever sent SIGTERM (scontrol requeue, scancel) decides whether it comes back. To
            # return would tell submitit that the job is over.
            sys.exit(128 + signal.SIGTERM)
        return told

    def checkpoint(self) -> object:
        """submitit's way to go on: call the same again. The runs know where they were."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


@contextmanager
def _signals_to(process: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    """Inside, the signals that take the node away ask the process of the slice to commit and stop;
    gives those that came."""
    received: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        received.append(number)
        process.terminate()

    before = {number: signal.signal(number, ask) for number in (PREEMPTED, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
