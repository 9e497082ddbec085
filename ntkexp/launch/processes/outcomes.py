"""What became of a job whose process has ended, and a record of it in the run's folder."""

from __future__ import annotations

import signal

from ntkexp.errors import UserError
from ntkexp.execution.outcome import DONE
from ntkexp.launch.job import LOG, Job, Outcome, log_of
from ntkexp.launch.processes import child
from ntkexp.results.status import forget_work, read_status


def set_outcome(job: Job, code: int, message: str, *, stopping: bool) -> None:
    """Set how a job ended. The run's status.json counts first: a process may be killed just
    after its work is done."""
    try:
        status = read_status(job.folder) or {"state": "missing"}
    except UserError as error:
        job.fail(str(error), job.folder / LOG)
        return
    # In a rerun that ended early what is finished may be the life before.
    if status["state"] == "finished" and not (job.config.rerun and code != DONE):
        job.outcome = Outcome.finished
        if code < 0:
            # Killed when its work was done, perhaps before it had tidied up.
            forget_work(job.folder)
    elif code == child.TAKEN:
        job.outcome, job.reason = Outcome.elsewhere, message
    elif code < 0 and not stopping:
        _record_kill(job, signal.Signals(-code))
    elif code == child.BAD_INPUT:
        job.fail(message, log_of(job, status))
    elif status["state"] == "failed":
        job.fail(status["reason"], log_of(job, status))
    elif stopping or status["state"] == "interrupted":
        job.outcome = Outcome.interrupted
    else:
        job.fail(message or f"ended with code {code}", log_of(job, status))


def _record_kill(job: Job, number: signal.Signals) -> None:
    from ntkexp.results.store import Run

    reason = f"killed by {number.name}"
    if number is signal.SIGKILL:
        reason += " (out of memory?)"
    job.fail(reason, job.folder / LOG)
    try:
        with Run(job.folder, ()) as run:
            status = read_status(job.folder) or {}
            if status.get("state") == "finished" and not job.config.rerun:
                job.outcome = Outcome.finished  # by another process, after this one was killed
                return
            run.write_status("failed", reason=reason, killed_by=number.name, log=LOG)
    except UserError:
        pass  # taken up by another already, whose word stands, or no room to say it
