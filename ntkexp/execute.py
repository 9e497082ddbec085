"""The life of a run: skip it, take it over or begin it; end it finished, interrupted or failed."""

from __future__ import annotations

import importlib
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from omegaconf import DictConfig, OmegaConf

from ntkexp.config import TrainConfig, check, identity, refuse_added, shrink
from ntkexp.errors import Diverged, Interrupted, UserError
from ntkexp.results.status import forget_parts, read_status

if TYPE_CHECKING:
    from ntkexp.results.store import Run
    from ntkexp.results.table import Table

DONE, FAILED = 0, 1

StopAsked = Callable[[], bool]
Work = Callable[["Run", StopAsked], None]


@dataclass(frozen=True)
class Command:
    """What a subcommand does with a composed config, in steps that a sweep can take apart.

    `complete` fills in and checks the config; `work` does the run in its folder and returns an
    exit code; `warm` imports what `work` needs and refuses what it can refuse without data.
    """

    complete: Callable[[DictConfig, frozenset[str]], None]
    warm: Callable[[DictConfig], None]
    work: Callable[[DictConfig, Path], int]

    def __call__(self, config: DictConfig, typed: frozenset[str]) -> int:
        """The whole of it, unless it is done already; `typed` are the keys the user set."""
        self.complete(config, typed)
        return self.work_if_needed(config, folder_of(config))

    def work_if_needed(self, config: DictConfig, folder: Path) -> int:
        """The run in `folder`, unless its outcome stands already."""
        if (code := _known(folder, rerun=config.rerun)) is not None:
            return code
        return self.work(config, folder)


def _complete_training(config: DictConfig, typed: frozenset[str]) -> None:
    refuse_added(config)
    shrink(config, typed)
    check(config)


def _warm_training(config: DictConfig) -> None:
    # torch and pandas are worth their seconds only where there is work to do.
    from ntkexp.training import experiment

    plain = OmegaConf.to_object(config)
    assert isinstance(plain, TrainConfig)
    experiment.build_probes(plain)
    _warm_results()


def _train(config: DictConfig, folder: Path) -> int:
    from ntkexp.training import experiment

    plain = OmegaConf.to_object(config)
    assert isinstance(plain, TrainConfig)
    built = experiment.build_probes(plain)
    return live(
        config,
        folder,
        experiment.tables(built),
        lambda run, stop_asked: experiment.train(plain, built, run, stop_asked),
    )


def _warm_study(config: DictConfig) -> None:
    from ntkexp import studies

    studies.choose(config.study)
    _warm_results()


def _warm_results() -> None:
    from ntkexp.results.provenance import provenance

    importlib.import_module("ntkexp.results.store")
    provenance()


def _study(config: DictConfig, folder: Path) -> int:
    from ntkexp import studies

    chosen = studies.choose(config.study)

    def work(run: Run, stop_asked: StopAsked) -> None:
        for table, frame in chosen.run(progress=config.progress).items():
            run.add(table, {str(name): frame[name].to_numpy() for name in frame})

    return live(config, folder, chosen.tables, work)


train = Command(_complete_training, _warm_training, _train)
study = Command(lambda config, typed: refuse_added(config), _warm_study, _study)


def folder_of(config: DictConfig) -> Path:
    return Path(config.paths.outputs, config.name, identity(config))


def _known(folder: Path, *, rerun: bool) -> int | None:
    """The exit code of a run whose outcome stands already; None when there is work to do."""
    status = read_status(folder)
    if status is None or rerun:
        return None
    if status["state"] == "finished":
        forget_parts(folder)
        print(f"done already: {folder}  (--rerun does it again)")
        return DONE
    if status["state"] == "failed" and "diverged_at" in status:
        print(f"failed before: {folder}: {status['reason']}  (--rerun tries again)")
        return FAILED
    return None


def live(config: DictConfig, folder: Path, tables: Iterable[Table], work: Work) -> int:
    """One life of a run, from taking its lock to the status it ends with."""
    from ntkexp.results.store import Run

    began = time.monotonic()
    with Run(folder, tables) as run, signals() as asked:
        begin(run, config)
        try:
            work(run, lambda: bool(asked))
        except Exception as error:
            return cut_short(run, error, asked)
        finish(run, began)
    return DONE


def begin(run: Run, config: DictConfig, **facts: object) -> None:
    """Say what the run is, and whether it goes on from an earlier life."""
    from ntkexp.results.provenance import provenance

    if config.rerun:
        run.clear()
    if run.checkpoint.exists():
        print(f"resuming {run.folder}")
    run.begin(OmegaConf.to_yaml(config, resolve=True), provenance() | facts)


def finish(run: Run, began: float) -> None:
    run.note({"seconds": time.monotonic() - began})
    run.finish()
    print(f"finished {run.folder}")


def cut_short(run: Run, error: Exception, asked: Sequence[int]) -> int:
    """Write down why a run did not come to its end; returns the exit code."""
    if isinstance(error, Interrupted):
        run.write_status("interrupted", reason=signal.Signals(asked[0]).name)
        print(f"interrupted {run.folder}; the same command goes on from here", file=sys.stderr)
        return 128 + asked[0]
    if isinstance(error, Diverged):
        run.finish("failed", reason=str(error), diverged_at=error.step)
        print(f"failed {run.folder}: {error}", file=sys.stderr)
        return FAILED
    if isinstance(error, UserError):
        # Once that is mended, the same command goes on from the last commit.
        run.write_status("interrupted", reason=str(error))
        raise error
    reason = f"{type(error).__name__}: {error}"
    run.write_text("traceback.txt", "".join(traceback.format_exception(error)))
    run.write_status("failed", reason=reason, traceback="traceback.txt")
    print(f"failed {run.folder}: {reason}", file=sys.stderr)
    print(f"its traceback: {run.folder / 'traceback.txt'}", file=sys.stderr)
    return FAILED


@contextmanager
def signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM for the loop to see; a second one ends the process at once."""
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
