"""One life of a run, from its start or its last commit to finished, interrupted or failed."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, cast

from omegaconf import DictConfig, OmegaConf

from ntkexp.errors import Diverged, Interrupted, UserError
from ntkexp.execution import threads
from ntkexp.execution.outcome import DONE, FAILED, compare_data, has_diverged, known
from ntkexp.identity import hashed, plain
from ntkexp.keys import EXECUTION_KEYS
from ntkexp.members import expanded
from ntkexp.results.card import Card
from ntkexp.results.configs import flattened
from ntkexp.results.status import read_status

if TYPE_CHECKING:
    from ntkexp.loggers import Logger
    from ntkexp.loggers.mirror import Mirror
    from ntkexp.results.store import Run
    from ntkexp.training.loop import Loop
    from ntkexp.training.prepared import Ready

Handler = Callable[[int, FrameType | None], None]


@dataclass(frozen=True)
class Asked:
    """How a run was asked for: the keys that were typed, and those over which a sweep goes."""

    typed: frozenset[str] = frozenset()
    axes: frozenset[str] = frozenset()


NOTHING = Asked()


def live(
    ready: Ready,
    config: DictConfig,
    folder: Path,
    words: Asked,
    asked: Sequence[int],
    began: float,
) -> int:
    """One life of a run, from taking its lock to the status it ends with.

    `asked` are the signals that came meanwhile, `began` is when the process began with it.
    """
    from ntkexp.results.store import Run
    from ntkexp.tangent.checks.independence import checking

    with Run(folder, ready.tables) as run, checking(ready.check, "probing.check=warn"):
        if (code := known(config, folder, lambda _: ready.data)) is not None:
            return code
        checkpoint = begin(run, config, ready, words)
        try:
            with mirror_of(run, config) as mirror:
                loop = loop_of(ready, run, config, checkpoint, mirror)
                loop.go(lambda: bool(asked))
            run.note({"seconds": time.monotonic() - began})
            run.finish()
        except Exception as error:
            return cut_short(run, error, asked)
    # Which of several limits ended it, where there is something to tell.
    limit = ready.limit if loop.work.step >= loop.work.last else ""
    print(f"finished {run.folder}" + (f"  (at {limit})" if limit else ""))
    return DONE


def mirror_of(run: Run, config: DictConfig) -> Mirror:
    """The loggers that a config chooses, for this run."""
    from ntkexp.loggers.mirror import Mirror

    values = flattened(plain(config))
    settings = {key: one for key, one in values.items() if _is_told(key)}
    members = expanded(config.members) if config.members else ()
    loggers = cast("dict[str, Logger]", OmegaConf.to_object(config.logger))
    return Mirror(loggers, run, config.name, settings, tuple(members))


def _is_told(key: str) -> bool:
    return key not in EXECUTION_KEYS and key.partition(".")[0] not in EXECUTION_KEYS


def loop_of(
    ready: Ready, run: Run, config: DictConfig, checkpoint: bytes | None, mirror: Mirror
) -> Loop:
    """The loop of a run, where the checkpoint left it."""
    from ntkexp.training.loop import Loop

    loop = Loop(
        ready.work,
        run,
        looks=ready.looks,
        probes=ready.probes,
        keep_at=ready.keep_at,
        device=ready.device,
        commit_every_seconds=config.checkpoint.every_seconds,
        label=f"{ready.label} to {ready.limit}" if ready.limit else ready.label,
        shown=config.progress,
        after_commit=mirror.catch_up if mirror else None,
    )
    if checkpoint is not None:
        loop.restore(checkpoint)
    return loop


def begin(run: Run, config: DictConfig, ready: Ready, words: Asked = NOTHING) -> bytes | None:
    """Write down what the run is. Returns the checkpoint from which it goes on, None for a new run.

    From here on the process computes with the number of threads of the run's first life.
    """
    from ntkexp.results.provenance import provenance

    if config.rerun or has_diverged(read_status(run.folder)):
        run.clear()
    checkpoint = run.resume()
    if checkpoint is not None:
        compare_data(run.folder, "was begun", run.facts.get("data", {}), ready.data)
        print(f"resuming {run.folder}")
    number, line = threads.of_life(run.facts.get("threads"), threads.wanted(config))
    if line is not None:
        print(line, file=sys.stderr)
    threads.use(number)
    facts = provenance() | {"data": dict(ready.data)} | dict(ready.about) | {"threads": number}
    text = OmegaConf.to_yaml(config, resolve=True)
    card = Card(
        experiment=config.name,
        command="study" if "study" in config else "train",
        hashed=hashed(plain(config)),
        axes=tuple(sorted(words.axes)),
        typed=tuple(sorted(words.typed - {"exp"})),
        facts={"data": dict(ready.data), "threads": number},
    )
    run.begin(text, facts, card)
    return checkpoint


def cut_short(run: Run, error: Exception, asked: Sequence[int]) -> int:
    """Write down why a run did not come to its end; returns the exit code."""
    if isinstance(error, Interrupted):
        run.write_status("interrupted", reason=signal.Signals(asked[0]).name)
        tell(f"interrupted {run.folder}; the same command goes on from here")
        return 128 + asked[0]
    if isinstance(error, Diverged):
        run.finish("failed", reason=str(error), diverged_at=error.step)
        tell(f"failed {run.folder}: {error}")
        return FAILED
    if isinstance(error, UserError):
        # Once that is mended, the same command goes on from the last commit. To say so may fail
        # for the very reason (a full disk, a run taken over); the first word is the one to hear.
        with contextlib.suppress(UserError):
            run.write_status("interrupted", reason=str(error))
        raise error
    reason = f"{type(error).__name__}: {error}"
    run.write_text("traceback.txt", "".join(traceback.format_exception(error)))
    run.write_status("failed", reason=reason, traceback="traceback.txt")
    tell(f"failed {run.folder}: {reason}\nits traceback: {run.folder / 'traceback.txt'}")
    return FAILED


def tell(line: str) -> None:
    """On standard error, if somebody still reads it: what is to be told is in the status, too."""
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr)


def end_at_once(number: int, frame: FrameType | None) -> None:
    """End this process wherever it is, also inside code that would turn an exception into
    another."""
    os._exit(128 + number)


@contextmanager
def signals(again: Handler = end_at_once) -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM for the loop to see; `again` answers a second one.

    After a second signal the run keeps what was committed, as after a kill. Only the main thread
    receives signals: in another thread there are none to see.
    """
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        if asked:
            again(number, frame)
        asked.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            # None: it was set by what is not Python, and stays with ours.
            if handler is not None:
                signal.signal(number, handler)
