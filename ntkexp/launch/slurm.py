"""launcher=slurm: one array of cluster jobs, through submitit."""

from __future__ import annotations

import contextlib
import io
import logging
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from omegaconf import DictConfig, OmegaConf

from ntkexp.compose.finalise import plan_of
from ntkexp.config import SlurmConfig
from ntkexp.errors import RunTakenError, UserError
from ntkexp.execution import run as life
from ntkexp.execution.outcome import DONE
from ntkexp.launch.job import BROKEN, Job, Outcome, set_outcome
from ntkexp.progress import Progress
from ntkexp.results.lock import SILENT_SECONDS
from ntkexp.results.status import read_status
from ntkexp.results.store import Run

POLL_SECONDS = 1.0
LOOK_SECONDS = 10.0
# A job that came to its end is out of the queue before every machine sees what it wrote.
PATIENCE_SECONDS = 30.0
LEFT = "left the queue without a result: it was cancelled, or lost with its node"


def run(jobs: Sequence[Job], config: DictConfig, done_before: int) -> int:
    """Submit the jobs and wait for them. Returns 130 if the user did not wait."""
    launcher = OmegaConf.to_object(config.launcher)
    assert isinstance(launcher, SlurmConfig)
    executor = _executor(launcher)  # before anything is written
    for job in jobs:
        # Somewhere else: a folder relative to here means nothing there.
        final = job.plan.config
        final.paths.outputs = str(Path(final.paths.outputs).absolute())
        if final.rerun:
            # Here and now: a job that comes back after a preemption must not begin again.
            with Run(job.folder, ()) as earlier:
                earlier.clear()
            final.rerun = False
    work = [SlurmJob(job.plan.config, job.plan.typed, job.plan.axes) for job in jobs]
    submitted = _submitted(executor, work)
    ids = " to ".join(dict.fromkeys(submitted[end].job_id for end in (0, -1)))
    print(f"submitted {len(jobs)} job{'s' if len(jobs) > 1 else ''}: {ids}")
    waiting = dict(zip(submitted, jobs, strict=True))
    total = done_before + len(jobs)
    with Progress("sweep", total, start=done_before, shown=config.progress) as progress:
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            _wait(waiting, progress, Queue() if launcher.cluster == "slurm" else None)
        except KeyboardInterrupt:
            print("the jobs stay in the queue (scancel removes them); the same command looks again")
            return 130
        finally:
            signal.signal(signal.SIGINT, before)
    return DONE


def _executor(launcher: SlurmConfig) -> Any:
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


def _wait(waiting: dict[Any, Job], progress: Progress, queue: Queue | None) -> None:
    """Wait until all have ended, in any order."""
    while waiting:
        left = queue.left([submitted.job_id for submitted in waiting]) if queue else set[str]()
        for submitted, job in list(waiting.items()):
            if _ended(submitted, job):
                _record_outcome(submitted, job)
            elif submitted.job_id in left:
                set_outcome(job, BROKEN, f"job {submitted.job_id} {LEFT}", stopping=False)
            else:
                continue
            del waiting[submitted]
            if (
                job.outcome is Outcome.failed
                and job.log is None
                and submitted.paths.stderr.exists()
            ):
                job.log = submitted.paths.stderr
            progress.advance(1)
        progress.advance(0, waiting=len(waiting))
        if waiting:
            time.sleep(POLL_SECONDS)


def _record_outcome(submitted: Any, job: Job) -> None:
    if submitted.done():
        set_outcome(job, *_result(submitted), stopping=False)
    else:
        job.outcome = Outcome.finished


def _ended(submitted: Any, job: Job) -> bool:
    """True if it has ended, by status.json first: small clusters lack the accounting that tells."""
    try:
        status = read_status(job.folder)
    except UserError:
        status = None  # its job is asked, and tells
    return (status is not None and status["state"] == "finished") or bool(submitted.done())


def _result(submitted: Any) -> tuple[int, str]:
    from submitit.core.utils import FailedJobError, UncompletedJobError

    try:
        return submitted.result(), ""
    except (FailedJobError, UncompletedJobError) as error:
        lines = str(error).strip().splitlines()
        return BROKEN, f"job {submitted.job_id} ({submitted.state}): {lines[-1]}"


class Queue:
    """The jobs that have left the queue.

    Where SLURM keeps accounts, they tell of a job that was cancelled or lost with its node; on
    clusters without, that it is no longer listed is all there is to know.
    """

    def __init__(self) -> None:
        self._asked = -math.inf
        self._missed: dict[str, float] = {}  # since when

    def left(self, ids: Collection[str]) -> set[str]:
        """The `ids` that were in no list for `PATIENCE_SECONDS`."""
        now = time.monotonic()
        if now - self._asked >= LOOK_SECONDS:
            self._asked = now
            listed = _listed()
            if listed is not None:
                self._missed = {id: self._missed.get(id, now) for id in ids if id not in listed}
        return {id for id, since in self._missed.items() if now - since >= PATIENCE_SECONDS}


def _listed() -> set[str] | None:
    """This user's jobs, elements of arrays one by one; None when SLURM does not answer."""
    words = ["squeue", "--noheader", "--array", "--format=%i", f"--user={os.getuid()}"]
    try:
        answer = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return set(answer.stdout.split())


# submitit's word for: the time is nearly up, or somebody else needs this node.
PREEMPTED = signal.SIGUSR2
RETRY_SECONDS = 15.0


@dataclass
class SlurmJob:
    """A callable that submitit pickles, sends and calls; and again after a preemption."""

    config: DictConfig
    typed: frozenset[str]
    axes: frozenset[str]

    def __call__(self) -> int:
        with _preemption() as preempted:
            code = self._carry_out()
        if preempted:
            # Everything is committed: now submitit may put the job back into the queue.
            os.kill(os.getpid(), PREEMPTED)
        if code >= 128:
            # Whoever sent SIGTERM (scontrol requeue, scancel) decides whether it comes back. To
            # return would tell submitit that the job is over.
            sys.exit(code)
        return code

    def checkpoint(self) -> object:
        """submitit's way to go on: call the same again. The run knows where it was."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)

    def _carry_out(self) -> int:
        plan = replace(plan_of(self.config, self.typed), axes=self.axes)
        patience = time.monotonic() + SILENT_SECONDS + 60
        while True:
            try:
                return life.run(plan)
            except RunTakenError as error:
                # A life that was killed on another node looks alive until its lock goes stale.
                if time.monotonic() > patience:
                    raise
                print(f"waiting: {error}", flush=True)
                time.sleep(RETRY_SECONDS)


@contextmanager
def _preemption() -> Iterator[list[int]]:
    """Inside, the signal of preemption asks the run to commit and stop, as SIGTERM does."""
    preempted: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        preempted.append(number)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(PREEMPTED, ask)
    try:
        yield preempted
    finally:
        signal.signal(PREEMPTED, before)
