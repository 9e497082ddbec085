"""Hydra at work: from command-line words to a composed config and the job that takes it."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from typing import Any

import hydra
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from ntkexp import schemas
from ntkexp.catalogue import experiments
from ntkexp.errors import UserError, meant, unknown_key
from ntkexp.execute import Command
from ntkexp.launch import plugin
from ntkexp.launch.task import Task

CONFIGS = "pkg://ntkexp.configs"
# Hydra's flags: those that take a word after them, and those that stand alone.
WITH_VALUE = {"--cfg", "-c", "--package", "-p", "--config-dir", "-cd", "--info", "-i"}
ALONE = {"--multirun", "-m", "--run", "-r", "--resolve", "--help", "-h", "--hydra-help"}

# Flags of ours, and the keys they stand for.
KEYS_OF_FLAGS = {
    "--rerun": "rerun",
    "--dry-run": "launcher.dry_run",
    "--fail-fast": "launcher.fail_fast",
    "--retry-failed": "launcher.retry_failed",
}


def run(config_name: str, words: Sequence[str], command: Command) -> int:
    """Compose `config_name` with the overrides in `words` and carry out `command` on it.

    Returns the worst of the exit codes of the jobs that `words` ask for.
    """
    task = Task(command)
    with _arguments(hoisted(words)), _plain_errors(config_name, words):
        _entry(config_name)(task)()
    if task.complaints:
        raise task.complaints[0]
    return max(task.codes)


def _entry(config_name: str) -> Callable[[Any], Any]:
    # Hydra 1.3 warns where it is not told whose habits to follow, 1.4 where it is.
    told = {"version_base": "1.3"} if hydra.__version__.startswith("1.3") else {}
    entry: Callable[[Any], Any] = hydra.main(config_path=CONFIGS, config_name=config_name, **told)
    return entry


def complete(config_name: str, line: str) -> list[str]:
    """Candidates for the last word of `line`, the words after the subcommand."""
    found = io.StringIO()
    # Hydra takes the first word for the program and the rest for overrides: the subcommand,
    # on which it would stumble, is gone by now.
    os.environ["COMP_LINE"] = f"ntkexp {line}"
    with _arguments(["-sc", "query=bash"]), contextlib.redirect_stdout(found):
        _entry(config_name)(_nothing)()
    return [word for word in found.getvalue().split() if not word.startswith("schema")]


def hoisted(words: Sequence[str]) -> list[str]:
    """The same words, flags first: Hydra 1.3 rejects a flag that stands between overrides.

    >>> hoisted(["optim.lr=0.1,0.2", "-m", "seed=1"])
    ['-m', 'optim.lr=0.1,0.2', 'seed=1']
    """
    flags, overrides = [], []
    sweeping = False
    rest = iter(words)
    for word in rest:
        # `-x` is a flag, `~x` and `+x` are overrides.
        if not word.startswith("-"):
            overrides.append(word)
        elif word in KEYS_OF_FLAGS:
            overrides.append(f"{KEYS_OF_FLAGS[word]}=true")
            sweeping = sweeping or word != "--rerun"
        elif word.partition("=")[0] in WITH_VALUE | ALONE:
            flags += [word, *([next(rest, "")] if word in WITH_VALUE else [])]
        else:
            known = sorted(flag for flag in {*KEYS_OF_FLAGS, *WITH_VALUE, *ALONE} if len(flag) > 3)
            raise UserError(
                f"{word}: no such flag{meant(word, known)}\naccepted are: {', '.join(known)}"
            )
    if sweeping and not {"-m", "--multirun"} & set(flags):
        # The flags of sweeps make a sweep, if need be of one job.
        flags.insert(0, "-m")
    return flags + overrides


def _nothing(config: DictConfig) -> None:
    raise AssertionError("completion runs no job")


@contextlib.contextmanager
def _arguments(words: Sequence[str]) -> Iterator[None]:
    before, full_error = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    sys.argv = [before[0], *words]
    # Hydra then raises what went wrong instead of printing it: the message is ours to write.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    schemas.register()
    plugin.register()
    try:
        yield
    finally:
        sys.argv = before
        if full_error is None:
            del os.environ["HYDRA_FULL_ERROR"]


@contextlib.contextmanager
def _plain_errors(config_name: str, words: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(_other_command(config_name, words) or explained(error)) from error


def _other_command(config_name: str, words: Sequence[str]) -> str:
    """That an experiment was asked of the wrong subcommand, if that is what happened."""
    values = (word.partition("=")[2] for word in words if word.lstrip("+").startswith("exp="))
    asked = {name for value in values for name in value.split(",")}
    for experiment in experiments():
        if experiment.name in asked and experiment.command != config_name:
            what = "trains a network" if experiment.command == "train" else "trains no network"
            return f"exp={experiment.name}: {what}; expected {experiment.line}"
    return ""


def explained(error: BaseException) -> str:
    """What Hydra or OmegaConf found wrong, in one or two lines that name key, value and choice."""
    cause = error.__cause__ or error
    text, reason = str(error), str(cause)
    if match := re.search(r"Could not (?:find|load) '([^/']+)/([^']+)'", text):
        return _unknown_option(match[1], match[2])
    if match := re.search(r"Could not override '([^']+)'", text):
        return _unknown_key(match[1], getattr(cause, "parent_node", None))
    if match := re.search(r"Error merging override (\S+)", text):
        key, _, value = match[1].lstrip("+").partition("=")
        return f"{key}={value}: {_one_line(reason)}"
    if match := re.search(r"In 'exp/(\S+)':.*Key '(\w+)' not in '(\w+)'", text + reason, re.S):
        return f"exp={match[1]}: sets {match[2]}, which {match[3]} lacks: choose another experiment"
    if match := re.search(r"You must specify '([^']+)'", text):
        return f"{match[1]} is not chosen: add {match[1]}=NAME or +exp=NAME (see ntkexp list)"
    return _one_line(text if cause is error else f"{text} {reason}")


def _unknown_option(group: str, option: str) -> str:
    choices = _options(group)
    guess = meant(option, choices)
    return f"{group}={option}: no such option{guess}\n{group} takes: {', '.join(choices)}"


def _options(group: str) -> list[str]:
    folder = resources.files("ntkexp.configs").joinpath(group)
    files = folder.iterdir() if folder.is_dir() else ()
    return sorted(f.name.removesuffix(".yaml") for f in files if f.name.endswith(".yaml"))


def _unknown_key(key: str, parent: object) -> str:
    if not isinstance(parent, DictConfig):
        return unknown_key(key, "", [])
    where = str(parent._get_full_key(None))
    choices = [str(name) for name in parent if name != "hydra"]
    if where == "probe":
        probe = key.split(".")[1]
        if probe not in _options("probe"):
            return _unknown_option("probe", probe)
        together = ",".join([*choices, probe])
        return f"{key}: probe {probe} is not chosen; expected 'probe=[{together}]' beside it"
    return unknown_key(key, where, choices)


def _one_line(text: str) -> str:
    kept = [
        line.strip()
        for line in text.splitlines()
        if line.strip() and not re.match(r"\s*(full_key|object_type|reference_type)", line)
    ]
    return " ".join(kept)
