"""The life of a job's process, from the fork to its exit."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from ntkexp import machine, progress
from ntkexp.errors import RunTakenError, UserError, cannot_write
from ntkexp.execution import threads
from ntkexp.execution.run import run
from ntkexp.launch.job import BAD_INPUT, BROKEN, LOG, TAKEN, Job
from ntkexp.results.files import make_folder

STOPS = (signal.SIGINT, signal.SIGTERM)
REPORT_SECONDS = 0.3


@dataclass(frozen=True)
class Slot:
    """Room for one job: the threads it may have at most, which small work leaves unused."""

    threads: int
    gpu: str | None


def carry_out(job: Job, slot: Slot, report: int, launcher: int) -> NoReturn:
    """Carry out a job and report its progress to the file descriptor `report`; what it prints is
    its log."""
    code = BROKEN
    try:
        _stand_alone(slot, launcher)
        make_folder(job.folder)
        _print_to(job.folder / LOG)
        with progress.reporting_to(_Reporter(report)):
            code = run(job.plan)
    except RunTakenError as error:
        code = TAKEN
        _send(report, {"message": str(error)})
    except UserError as error:
        code = BAD_INPUT
        _send(report, {"message": str(error)})
        with contextlib.suppress(OSError):  # the disk of the log may be what is full
            print(f"ntkexp: {error}", file=sys.stderr)
        _forget_unbegun(job.folder)
    except BaseException as error:
        _send(report, {"message": f"{type(error).__name__}: {error}"})
        with contextlib.suppress(OSError):
            traceback.print_exc()
    finally:
        # Whatever happens, this process must not return into the launcher's code, of which it is
        # a copy.
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            # The launcher's bar and exit handlers must not run in this copy of it.
            os._exit(code)


def _stand_alone(slot: Slot, launcher: int) -> None:
    # A group of its own: Ctrl-C reaches it once, through the launcher, not twice.
    os.setpgid(0, 0)
    for number in STOPS:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    # When the launcher is killed the job commits and makes room.
    machine.end_with_parent()
    if os.getppid() != launcher:
        os._exit(BROKEN)
    _offer_to_the_memory_killer()
    if slot.gpu is not None:
        machine.give(slot.gpu)
    threads.share(slot.threads)
    threads.use(slot.threads)


def _offer_to_the_memory_killer() -> None:
    """When memory runs out, let the kernel end this job and not the launcher."""
    adjustment = Path("/proc/self/oom_score_adj")
    if adjustment.exists():
        adjustment.write_text("500")


def _print_to(log: Path) -> None:
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise cannot_write(log, error) from error
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    os.close(descriptor)


def _forget_unbegun(folder: Path) -> None:
    """Remove the folder of a job that was refused before its run began."""
    if not (folder / "status.json").exists():
        with contextlib.suppress(OSError):
            (folder / LOG).unlink()
            folder.rmdir()


class _Reporter:
    """Reports the progress of the job from time to time."""

    def __init__(self, report: int) -> None:
        self._report, self._sent = report, 0.0
        os.set_blocking(report, False)

    def __call__(self, task: progress.Progress) -> None:
        now = time.monotonic()
        if now - self._sent >= REPORT_SECONDS:
            self._sent = now
            _send(self._report, {"done": task.done, "total": task.total, "figures": task.figures})


def _send(report: int, message: dict[str, object]) -> None:
    # Where nobody listens, or not fast enough, the next report says more.
    with contextlib.suppress(BlockingIOError, BrokenPipeError):
        os.write(report, (json.dumps(message, default=str) + "\n").encode())
