"""Hydra at work: from command-line words to a composed config and the job that takes it."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ntkexp.compose import composition
from ntkexp.compose.finalise import finalise
from ntkexp.compose.overrides import (
    SWEEP,
    check_overrides,
    explained,
    plain_errors,
    ranges_quoted,
    typed_keys,
)
from ntkexp.errors import RunFailed, SweepStopped, UserError, denied, meant
from ntkexp.execution import run as life
from ntkexp.execution.outcome import DONE, metric_of
from ntkexp.identity import folder_of

SHOWN = ("job", "hydra", "all")
INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
# Hydra's flags: those that take a word after them, what that may be (None is for anything), and
# those that stand alone.
WITH_VALUE: dict[str, tuple[str, ...] | None] = {
    "--cfg": SHOWN,
    "-c": SHOWN,
    "--info": INFO,
    "-i": INFO,
    "--package": None,
    "-p": None,
    "--config-dir": None,
    "-cd": None,
}
ALONE = {"--multirun", "-m", "--run", "-r", "--resolve"}
# What is done with the config; Hydra does one of them.
WAYS = (SWEEP, ("--run", "-r"), ("--cfg", "-c"), ("--info", "-i"))

# Flags of ours, and the keys they stand for.
KEYS_OF_FLAGS = {
    "--rerun": "rerun",
    "--dry-run": "launcher.dry_run",
    "--fail-fast": "launcher.fail_fast",
    "--retry-failed": "launcher.retry_failed",
    "--with-parents": "with_parents",
}
# Flags that say nothing of a sweep.
OF_ANY_RUN = ("--rerun", "--with-parents")


def run(config_name: str, words: Sequence[str]) -> int:
    """Compose `config_name` with the overrides in `words` and carry it out.

    Returns the worst of the exit codes of the jobs that `words` ask for.
    """
    task = Task(one_run=_dry_run_of_one(words))
    with _arguments(hoisted(ranges_quoted(words))), plain_errors(config_name, words):
        check_overrides([word for word in sys.argv[1:] if not (task.one_run and word in SWEEP)])
        sys.argv += _logging(sys.argv[1:])
        # Both are reported already: a signal by the exit code, a job that failed by its own line.
        with contextlib.suppress(SweepStopped, RunFailed):
            try:
                _entry(config_name)(task)()
            except SystemExit:
                return 2  # Hydra has said itself what is wrong, as with --cfg job -p NONE
    if task.complaints:
        raise task.complaints[0]
    return max(task.codes)


class Task:
    """Carries out the config of a single run.

    Hydra takes functions, swallows what they return in a sweep, and puts lines of its own before
    what they raise: so codes and complaints are kept here.

    `one_run`: a sweep is about one run alone, also where its experiment sweeps keys by itself.
    """

    def __init__(self, *, one_run: bool = False) -> None:
        self.one_run = one_run
        self.codes = [0]
        self.complaints: list[UserError] = []

    def __call__(self, config: DictConfig) -> float | None:
        # As they were typed: a value such as ${seed} means nothing outside of the config.
        words = OmegaConf.to_container(HydraConfig.get().overrides.task, resolve=False)
        assert isinstance(words, list)
        typed = life.Typed(frozenset(typed_keys(words)))
        try:
            finalise(config, typed.keys)
            folder = folder_of(config)
            self.codes.append(code := life.run(config, folder, typed))
            if code == DONE and config.objective_metric is not None:
                number = metric_of(folder, config.objective_metric)
                print(f"{config.objective_metric} = {number:.6g}")
                return number
        except UserError as error:
            self.complaints.append(error)
        except PermissionError as error:
            self.complaints.append(denied(error))
        except OmegaConfBaseException as error:
            self.complaints.append(UserError(explained(error)))
        return None


def _entry(config_name: str) -> Callable[[Any], Any]:
    # Hydra 1.3 warns where it is not told whose habits to follow, 1.4 where it is.
    options = {"version_base": "1.3"} if hydra.__version__.startswith("1.3") else {}
    entry: Callable[[Any], Any] = hydra.main(
        config_path=composition.CONFIGS, config_name=config_name, **options
    )
    return entry


def complete(config_name: str, line: str) -> list[str]:
    """Candidates for the last word of `line`, the words after the subcommand."""
    offered = io.StringIO()
    # Hydra takes the first word for the program and the rest for overrides: the subcommand,
    # on which it would stumble, is gone by now.
    os.environ["COMP_LINE"] = f"ntkexp {line}"
    with _arguments(["-sc", "query=bash"]), contextlib.redirect_stdout(offered):
        _entry(config_name)(_nothing)()
    return [word for word in offered.getvalue().split() if not word.startswith("schema")]


def hoisted(words: Sequence[str]) -> list[str]:
    """`words` with flags first: Hydra 1.3 rejects a flag that stands between overrides.

    >>> hoisted(["optim.lr=0.1,0.2", "-m", "seed=1"])
    ['-m', 'optim.lr=0.1,0.2', 'seed=1']
    """
    flags, overrides, of_sweeps = [], [], []
    rest = iter(words)
    for word in rest:
        # `-x` is a flag, `~x` and `+x` are overrides.
        if not word.startswith("-"):
            overrides.append(word)
        elif word in KEYS_OF_FLAGS:
            overrides.append(f"{KEYS_OF_FLAGS[word]}=true")
            of_sweeps += [word] if word not in OF_ANY_RUN else []
        elif word in ALONE:
            flags.append(word)
        elif (flag := word.partition("=")[0]) in WITH_VALUE:
            value = word.partition("=")[2] or next(rest, "")
            _check_flag(flag, value)
            flags += [flag, value]
        else:
            accepted = sorted(
                flag for flag in {*KEYS_OF_FLAGS, *WITH_VALUE, *ALONE} if len(flag) > 3
            )
            raise UserError(
                f"{word}: no such flag{meant(word, accepted)}\naccepted are: {', '.join(accepted)}"
            )
    _check_companions(flags)
    _check_one_way(flags, of_sweeps)
    if of_sweeps and not set(SWEEP) & set(flags):
        # The flags of sweeps make a sweep, even of one job.
        flags.insert(0, "-m")
    return flags + overrides


def _dry_run_of_one(words: Sequence[str]) -> bool:
    """True if a dry run is about the one run that the same words make without the flag: there is
    neither -m nor another flag of sweeps beside it."""
    of_sweeps = {*KEYS_OF_FLAGS, *SWEEP}.difference(OF_ANY_RUN)
    return of_sweeps.intersection(words) == {"--dry-run"}


def _logging(overrides: Sequence[str]) -> list[str]:
    """Hydra's own log is off (configs/quiet.yaml); asking for it turns it on."""
    values = [word.partition("=")[2] for word in overrides if word.startswith("hydra.verbose=")]
    if not values or values[-1].lower() in ("false", "no", "off", "0"):
        return []
    return ["hydra/hydra_logging=default", "hydra/job_logging=stdout"]


def _check_flag(flag: str, value: str) -> None:
    """Refuse what Hydra would answer with a page of usage."""
    choices = WITH_VALUE[flag]
    if choices is not None and value not in choices:
        raise UserError(f"{flag} {value}".rstrip() + f": expected one of {', '.join(choices)}")
    if flag in ("--config-dir", "-cd") and not (value and Path(value).is_dir()):
        raise UserError(f"{flag} {value}".rstrip() + ": no such folder; expected one of configs")
    if not value or "=" in value:
        raise UserError(f"{flag} {value}".rstrip() + ": expected a part of the config, as optim")


def _check_companions(flags: Sequence[str]) -> None:
    if {"--cfg", "-c"} & set(flags):
        return
    for flag in ("--resolve", "--package", "-p"):
        if flag in flags:
            raise UserError(f"{flag}: says how --cfg prints; expected --cfg job beside it")


def _check_one_way(flags: Sequence[str], of_sweeps: Sequence[str]) -> None:
    chosen = {names: flag for flag in flags for names in WAYS if flag in names}
    if of_sweeps:
        chosen.setdefault(SWEEP, of_sweeps[0])
    if len(chosen) > 1:
        raise UserError(f"{' and '.join(chosen.values())}: expected one of them")


def _nothing(config: DictConfig) -> None:
    raise AssertionError("completion runs no job")


@contextlib.contextmanager
def _arguments(words: Sequence[str]) -> Iterator[None]:
    before, full_error = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    sys.argv = [before[0], *words]
    # Hydra then raises what went wrong instead of printing it: the message is ours to write.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    composition.register()
    if set(SWEEP) & set(words):
        from ntkexp.launch import plugin

        plugin.register()
    try:
        yield
    finally:
        sys.argv = before
        if full_error is None:
            del os.environ["HYDRA_FULL_ERROR"]
