"""The life of a run on one page: skipped where it is done, else begun or resumed, and finished.

1. Done already, or failed for good: its exit code is known    outcome.py
2. Runs that it needs are made first                           ntkexp/compose/plan.py
3. Data, network and probes are built: what is wrong is known
   before a folder is made                                     prepare.py
4. Its lock is taken, and the first question asked again: it
   may have been done by another process meanwhile             ntkexp/results/lock.py
5. It is begun, or resumed where its last commit left it       ntkexp/results/store.py
6. The loop goes to its end                                    ntkexp/training/loop.py
7. Its files are published, and its status says how it ended
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import OmegaConf

from ntkexp.compose.plan import Plan, refuse_unmet
from ntkexp.errors import Diverged, Interrupted, UserError
from ntkexp.execution import going_on, threads
from ntkexp.execution.going_on import WORK
from ntkexp.execution.outcome import DONE, FAILED, compare_data, done_already, has_diverged, say
from ntkexp.execution.prepare import checksums, prepare, refuse_unknown_metric
from ntkexp.execution.process import as_program
from ntkexp.results.status import Card, forget_work, read_status, tidy

if TYPE_CHECKING:
    from ntkexp.loggers.mirror import Mirror
    from ntkexp.results.store import Run
    from ntkexp.training.loop import Loop
    from ntkexp.training.prepared import Ready

Process = Callable[[], AbstractContextManager[Sequence[int]]]


def run(plan: Plan, process: Process = as_program) -> int:
    """Bring a run to its end, in its folder. Returns its exit code.

    `process` surrounds the work and gives the signals that ask it to stop.
    """
    if (code := done_already(plan, checksums)) is not None:
        return code
    if plan.needs and (code := make_needed(plan, process)):
        return code
    with process() as signals:
        began = time.monotonic()
        ready = prepare(plan)
        refuse_unknown_metric(plan, ready.tables)
        if signals:
            print("interrupted before the run began", file=sys.stderr)
            return 128 + signals[0]
        return _one_life(plan, ready, signals, began)


def make_needed(plan: Plan, process: Process) -> int:
    """Bring the runs that it needs to their ends; the exit code of one that does not come there."""
    refuse_unmet(plan)
    for parent in plan.needs:
        if parent.finished:
            tidy(parent.folder)
        else:
            assert parent.plan is not None
            if code := run(parent.plan, process):
                return code
    return DONE


def _one_life(plan: Plan, ready: Ready, signals: Sequence[int], began: float) -> int:
    """One life of a run, from taking its lock to the status it ends with."""
    from ntkexp.results.store import Run
    from ntkexp.tangent.independence import checking

    with Run(plan.folder, ready.tables) as stored, checking(ready.check, "probing.check=warn"):
        if (code := done_already(plan, lambda _: ready.data)) is not None:
            forget_work(plan.folder)
            return code
        checkpoint = begin(stored, plan, ready)
        try:
            mirror = None
            if plan.config.logger:
                from ntkexp.loggers.mirror import mirror_for

                mirror = mirror_for(plan.config, stored)
            with mirror or contextlib.nullcontext():
                loop = loop_of(ready, stored, plan, checkpoint, mirror)
                loop.go(lambda: bool(signals))
            stored.note({"seconds": time.monotonic() - began})
            told = stored.finish()
        except Exception as error:
            return _cut_short(stored, error, signals)
    # Which of several limits ended it, where there is something to tell.
    limit = ready.limit if loop.work.step >= loop.work.last else ""
    remarks = [f"at {limit}"] if limit else []
    if told.diverged:
        networks = f"{told.diverged} of {len(plan.members)} networks"
        remarks.append(f"{networks} diverged: members.parquet says which")
    say(f"finished {plan.folder}" + (f"  ({'; '.join(remarks)})" if remarks else ""))
    return DONE


def begin(stored: Run, plan: Plan, ready: Ready) -> bytes | None:
    """Begin a run, or take it up where its last commit left it, and write down what it is.

    Returns the checkpoint to go on from, None for a new run.

    From here on the process computes with the number of threads of the run's first life.
    """
    from ntkexp.results.provenance import provenance

    config = plan.config
    if config.rerun or has_diverged(read_status(stored.folder)):
        stored.clear()
    checkpoint = stored.resume()
    if checkpoint is not None:
        compare_data(stored.folder, "was begun", stored.facts.get("data", {}), ready.data)
        say(f"resuming {stored.folder}")
    elif not config.rerun and "optim" in config and any(plan.folder.parent.glob(f"*/{WORK}")):
        checkpoint = going_on.take_up(stored, plan, ready)
    number, line = threads.of_life(stored.facts.get("threads"), threads.wanted(config))
    if line is not None:
        print(line, file=sys.stderr)
    threads.use(number)
    facts = provenance() | {"data": dict(ready.data)} | dict(ready.about) | {"threads": number}
    card = Card(
        experiment=config.name,
        command=plan.command,
        hashed=plan.decides,
        axes=tuple(sorted(plan.axes)),
        typed=tuple(sorted(plan.typed - {"exp"})),
        facts={"data": dict(ready.data), "threads": number},
    )
    stored.begin(OmegaConf.to_yaml(config, resolve=True), facts, card)
    return checkpoint


def loop_of(
    ready: Ready,
    stored: Run,
    plan: Plan,
    checkpoint: bytes | None,
    mirror: Mirror | None = None,
) -> Loop:
    """The loop of a run, where the checkpoint left it."""
    from ntkexp.training.loop import Loop

    loop = Loop(
        ready.work,
        stored,
        looks=ready.looks,
        probes=ready.probes,
        keep_at=ready.keep_at,
        device=ready.device,
        commit_every_seconds=plan.config.checkpoint.every_seconds,
        began_at=stored.began_at,
        label=f"{ready.label} to {ready.limit}" if ready.limit else ready.label,
        shown=plan.config.progress,
        after_commit=mirror.catch_up if mirror else None,
        keep_work=WORK if plan.config.keep.work else "",
    )
    if checkpoint is not None:
        loop.restore(checkpoint)
    return loop


def _cut_short(stored: Run, error: Exception, signals: Sequence[int]) -> int:
    """Write down why a run did not come to its end; returns the exit code."""
    if isinstance(error, Interrupted):
        stored.write_status("interrupted", reason=signal.Signals(signals[0]).name)
        say(f"interrupted {stored.folder}; the same command goes on from here", sys.stderr)
        return 128 + signals[0]
    if isinstance(error, Diverged):
        stored.finish("failed", reason=str(error), diverged_at=error.step)
        say(f"failed {stored.folder}: {error}", sys.stderr)
        return FAILED
    if isinstance(error, UserError):
        # Once that is mended, the same command goes on from the last commit. To say so may fail
        # for the very reason (a full disk, a run taken over); the first word is the one to hear.
        with contextlib.suppress(UserError):
            stored.write_status("interrupted", reason=str(error))
        raise error
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_own(frame.filename)]
    place = f" ({own[-1].filename}:{own[-1].lineno})" if own else ""
    reason = f"{type(error).__name__}: {error}{place}"
    say(f"failed {stored.folder}: {reason}", sys.stderr)  # first: to write it down may fail
    stored.write_text("traceback.txt", "".join(traceback.format_exception(error)))
    stored.write_status("failed", reason=reason, traceback="traceback.txt")
    say(f"its traceback: {stored.folder / 'traceback.txt'}", sys.stderr)
    return FAILED


def _is_own(file: str) -> bool:
    """True of a file that is neither ours nor of what is installed."""
    home = str(Path(__file__).parents[1])
    return not file.startswith(home) and "site-packages" not in file and "/lib/python" not in file
