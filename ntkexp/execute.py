"""The life of a run: skip it, take it over or begin it; end it finished, interrupted or failed."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from omegaconf import DictConfig, OmegaConf

from ntkexp import members, threads
from ntkexp.config import StudyConfig, TrainConfig, check, check_study, refuse_added, shrink
from ntkexp.errors import Diverged, Interrupted, UserError
from ntkexp.identity import hashed, identity, plain
from ntkexp.results.card import Card, read_card
from ntkexp.results.facts import data_of
from ntkexp.results.status import forget_work, read_status, refuse_damaged

if TYPE_CHECKING:
    from ntkexp.results.store import Run
    from ntkexp.training.loop import Loop
    from ntkexp.training.prepared import Ready

DONE, FAILED = 0, 1


@dataclass(frozen=True)
class Asked:
    """How a run was asked for: the keys that were typed, and those over which a sweep goes."""

    typed: frozenset[str] = frozenset()
    axes: frozenset[str] = frozenset()


NOTHING = Asked()


@dataclass(frozen=True)
class Command:
    """What a subcommand does with a composed config, in steps that a sweep can take apart.

    `finalise` fills in and checks the config; `prepare` builds and loads what the run needs, so
    that whatever is wrong is known before a folder is made; `preload` imports what `prepare` needs
    and refuses what it can refuse without data; `data` are the checksums of the files that a run
    would read here, found without loading them.
    """

    finalise: Callable[[DictConfig, frozenset[str]], None]
    preload: Callable[[DictConfig], None]
    prepare: Callable[[DictConfig], Ready]
    data: Callable[[DictConfig], Mapping[str, str]]

    def __call__(self, config: DictConfig, typed: frozenset[str]) -> int:
        """The whole of it, unless it is done already; `typed` are the keys the user set."""
        self.finalise(config, typed)
        return self.run_if_needed(config, folder_of(config), Asked(typed))

    def run_if_needed(self, config: DictConfig, folder: Path, words: Asked = NOTHING) -> int:
        """The run in `folder`, unless its outcome stands already."""
        if (code := _known(self, config, folder)) is not None:
            return code
        return self.run(config, folder, words)

    def run(self, config: DictConfig, folder: Path, words: Asked = NOTHING) -> int:
        """One life of the run in `folder`: an exit code, once the run's own status is written."""
        with signals() as asked:
            began = time.monotonic()
            ready = self.prepare(config)
            if asked:
                print("interrupted before the run began", file=sys.stderr)
                return 128 + asked[0]
            return _live(ready, config, folder, words, asked, began)


def _finalise_training(config: DictConfig, typed: frozenset[str]) -> None:
    refuse_added(config)
    shrink(config, typed)
    check(config)
    for _, member in members.of_config(config) if config.members else ():
        check(member)


def _preload_training(config: DictConfig) -> None:
    # torch and pandas are worth their seconds only where there is work to do.
    from ntkexp.training import experiment

    experiment.build_probes(_plain(config))
    _preload_results()


def _prepare_training(config: DictConfig) -> Ready:
    from ntkexp.training import experiment

    many = members.of_config(config) if config.members else []
    return experiment.prepare(_plain(config), [(values, _plain(one)) for values, one in many])


def _training_data(config: DictConfig) -> Mapping[str, str]:
    return _plain(config).data.files()


def _plain(config: DictConfig) -> TrainConfig:
    plain = OmegaConf.to_object(config)
    assert isinstance(plain, TrainConfig)
    return plain


def _preload_study(config: DictConfig) -> None:
    importlib.import_module("pandas")
    _preload_results()


def _preload_results() -> None:
    from ntkexp.results.provenance import provenance

    importlib.import_module("ntkexp.results.store")
    provenance()


def _prepare_study(config: DictConfig) -> Ready:
    from ntkexp.training.parts import Parts
    from ntkexp.training.prepared import Ready

    plain = OmegaConf.to_object(config)
    assert isinstance(plain, StudyConfig)
    study = plain.study
    return Ready(work=Parts(study), tables=study.tables, label=study.name)


train = Command(_finalise_training, _preload_training, _prepare_training, _training_data)
study = Command(
    lambda config, typed: check_study(config), _preload_study, _prepare_study, lambda config: {}
)


def folder_of(config: DictConfig) -> Path:
    return Path(config.paths.outputs, config.name, identity(config))


def _known(command: Command, config: DictConfig, folder: Path) -> int | None:
    """The exit code of a run whose outcome stands already; None when there is work to do."""
    if config.rerun:
        return None
    status = read_status(folder)
    if status is None:
        return None
    if status["state"] == "finished":
        refuse_damaged(folder, status)
        refuse_other_run(config, folder)
        refuse_other_data(command, config, folder)
        forget_work(folder)
        print(f"done already: {folder}  (--rerun does it again)")
        return DONE
    if status["state"] == "failed" and "diverged_at" in status:
        print(f"failed before: {folder}: {status['reason']}  (--rerun tries again)")
        return FAILED
    return None


def refuse_other_run(config: DictConfig, folder: Path) -> None:
    """A run stands for a config only if it is what the config asks for, key by key."""
    card = read_card(folder)
    here = hashed(plain(config))
    if card is not None and card.hashed != here:
        keys = sorted(key for key in {*card.hashed, *here} if card.hashed.get(key) != here.get(key))
        raise UserError(
            f"{folder} was made from another config ({', '.join(keys)} differ), though it has its "
            "id; --rerun does the run again from this one"
        )


def refuse_other_data(command: Command, config: DictConfig, folder: Path) -> None:
    """A finished run stands for its command only with the data it was made from.

    Where the data are not at hand there is nothing to compare, and the run stands.
    """
    kept = data_of(folder)
    if not kept:
        return
    try:
        here = command.data(config)
    except UserError:
        return
    if here:
        _compare_data(folder, "was made", kept, here)


def _compare_data(folder: Path, how: str, kept: Mapping[str, str], here: Mapping[str, str]) -> None:
    # By content: the same files may lie under other names.
    if sorted(kept.values()) == sorted(here.values()):
        return
    other = [name for name, sum_ in here.items() if sum_ not in kept.values()] or sorted(here)
    raise UserError(
        f"{folder} {how} from other data than NTKEXP_DATA has now ({other[0]} differs); point it "
        "at the former data, or --rerun does the run again with these"
    )


def _live(
    ready: Ready,
    config: DictConfig,
    folder: Path,
    words: Asked,
    asked: Sequence[int],
    began: float,
) -> int:
    """One life of a run, from taking its lock to the status it ends with."""
    from ntkexp.results.store import Run

    with Run(folder, ready.tables) as run:
        checkpoint = begin(run, config, ready, words)
        try:
            loop = loop_of(ready, run, config, checkpoint)
            loop.go(lambda: bool(asked))
            finish(run, began)
        except Exception as error:
            return cut_short(run, error, asked)
    return DONE


def loop_of(ready: Ready, run: Run, config: DictConfig, checkpoint: bytes | None) -> Loop:
    """The loop of a run, where the checkpoint left it."""
    from ntkexp.training.loop import Loop

    loop = Loop(
        ready.work,
        run,
        looks=ready.looks,
        probes=ready.probes,
        commit_every_seconds=config.checkpoint.every_seconds,
        label=ready.label,
        shown=config.progress,
    )
    if checkpoint is not None:
        loop.restore(checkpoint)
    return loop


def begin(run: Run, config: DictConfig, ready: Ready, words: Asked = NOTHING) -> bytes | None:
    """Say what the run is; the checkpoint from which it goes on, None where it begins.

    From here on the process computes with the run's number of threads: that of its first life.
    """
    from ntkexp.results.provenance import provenance

    if config.rerun:
        run.clear()
    checkpoint = run.resume()
    if checkpoint is not None:
        _compare_data(run.folder, "was begun", run.facts.get("data", {}), ready.data)
        print(f"resuming {run.folder}")
    number, line = threads.settled(run.facts.get("threads"), threads.wanted(config))
    if line is not None:
        print(line, file=sys.stderr)
    threads.use(number)
    told = provenance() | {"data": dict(ready.data)} | dict(ready.about) | {"threads": number}
    text = OmegaConf.to_yaml(config, resolve=True)
    card = Card(
        experiment=config.name,
        command="study" if "study" in config else "train",
        hashed=hashed(plain(config)),
        axes=tuple(sorted(words.axes)),
        typed=tuple(sorted(words.typed - {"exp"})),
        facts={"data": dict(ready.data), "threads": number},
    )
    run.begin(text, told, card)
    return checkpoint


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
        # Once that is mended, the same command goes on from the last commit. To say so may fail
        # for the very reason (a full disk, a run taken over); the first word is the one to hear.
        with contextlib.suppress(UserError):
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
    """Collect SIGINT and SIGTERM for the loop to see; a second one ends the process at once.

    At once: wherever it is, also inside code that would turn an exception into another. What was
    committed stays, as after a kill.
    """
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        if asked:
            os._exit(128 + number)
        asked.append(number)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
