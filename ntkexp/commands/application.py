"""Hydra at work: from command-line words to a composed config and the job that takes it."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ntkexp.compose import composition
from ntkexp.compose.experiment_file import folders_named
from ntkexp.compose.finalise import finalise
from ntkexp.compose.overrides import (
    SEARCHPATH,
    check_overrides,
    explained,
    options_of,
    plain_errors,
    ranges_quoted,
    typed_keys,
)
from ntkexp.compose.swaps import typed_here
from ntkexp.errors import RunFailed, SweepStopped, UserError, denied
from ntkexp.execution.outcome import DONE, FAILED, metric_of
from ntkexp.execution.run import run as run_to_its_end


def run(
    config_name: str, flags: Sequence[str], overrides: Sequence[str], *, one_run: bool = False
) -> int:
    """Compose `config_name` with the overrides and carry it out; `flags` are Hydra's own.

    Returns the worst of the exit codes of the jobs that they ask for.
    """
    overrides, task = ranges_quoted(overrides), Task(one_run=one_run)
    sweeping = "--multirun" in flags
    with (
        _arguments([*flags, *overrides], sweeping),
        folders_named(_folders(flags, overrides)),
        typed_here(overrides),
        plain_errors(config_name, overrides),
    ):
        check_overrides(overrides, sweeping=sweeping and not one_run)
        sys.argv += _logging(overrides)
        # Both are reported already: a signal by the exit code, a job that failed by its own line.
        with contextlib.suppress(SweepStopped, RunFailed):
            try:
                _entry(config_name)(task)()
            except SystemExit:
                return 2  # Hydra has said itself what is wrong, as with --cfg job -p NONE
    if task.complaints:
        raise task.complaints[0]
    return max(task.codes)


def _folders(flags: Sequence[str], overrides: Sequence[str]) -> tuple[Path, ...]:
    """The folders of configs that a command names."""
    named: list[Any] = [flags[at + 1] for at, flag in enumerate(flags) if flag == "--config-dir"]
    for word in overrides:
        if word.startswith(f"{SEARCHPATH}="):
            places = OverridesParser.create().parse_override(word).value()
            named += places if isinstance(places, list) else ()
    return tuple(Path(str(place).removeprefix("file://")) for place in named)


class Task:
    """Carries out the config of a single run.

    Hydra takes functions, swallows what they return in a sweep, and puts lines of its own before
    what they raise: so codes and complaints are kept here.

    `one_run`: a sweep is about one run alone, also where its experiment sweeps keys by itself.
    """

    def __init__(self, *, one_run: bool) -> None:
        self.one_run = one_run
        self.codes = [0]
        self.complaints: list[UserError] = []

    def __call__(self, config: DictConfig) -> float | None:
        # As they were typed: a value such as ${seed} means nothing outside of the config.
        words = OmegaConf.to_container(HydraConfig.get().overrides.task, resolve=False)
        assert isinstance(words, list)
        try:
            plan = finalise(config, frozenset(typed_keys(words)))
            self.codes.append(code := run_to_its_end(plan))
            if code == DONE and config.objective_metric is not None:
                number = metric_of(plan.folder, config.objective_metric)
                print(f"{config.objective_metric} = {number:.6g}")
                return number
        except UserError as error:
            self.complaints.append(error)
        except PermissionError as error:
            self.complaints.append(denied(error))
        except OmegaConfBaseException as error:
            self.complaints.append(UserError(explained(error)))
        except Exception:  # somebody's own component, say: from here on down, not Hydra's frames
            traceback.print_exc()
            self.codes.append(FAILED)
        return None


def _entry(config_name: str) -> Callable[[Any], Any]:
    # Hydra 1.3 warns where it is not told whose habits to follow, 1.4 where it is.
    options = {"version_base": "1.3"} if hydra.__version__.startswith("1.3") else {}
    entry: Callable[[Any], Any] = hydra.main(
        config_path=composition.CONFIGS, config_name=config_name, **options
    )
    return entry


@contextlib.contextmanager
def _arguments(words: Sequence[str], sweeping: bool = False) -> Iterator[None]:
    before, full_error = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    sys.argv = [before[0], *words]
    # Hydra then raises what went wrong instead of printing it: the message is ours to write.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    composition.register()
    if sweeping:
        from ntkexp.launch import plugin

        plugin.register()
    try:
        yield
    finally:
        sys.argv = before
        if full_error is None:
            del os.environ["HYDRA_FULL_ERROR"]


def _logging(overrides: Sequence[str]) -> list[str]:
    """Hydra's own log is off (configs/quiet.yaml); asking for it turns it on."""
    values = [word.partition("=")[2] for word in overrides if word.startswith("hydra.verbose=")]
    if not values or values[-1].lower() in ("false", "no", "off", "0"):
        return []
    return ["hydra/hydra_logging=default", "hydra/job_logging=stdout"]


def candidates(config_name: str, typed: Sequence[str]) -> list[str]:
    """What may stand in the place of the last of these overrides."""
    group, sign, _ = typed[-1].partition("=")
    if sign and group.lstrip("+") == "exp":
        # Hydra offers no names with a slash.
        return [f"{group}={name}" for name in options_of("exp")]
    if sign and "." in group and (values := _choices(config_name, typed)):
        return [f"{group}={value}" for value in values]
    return _offered(config_name, " ".join(typed))


def _offered(config_name: str, line: str) -> list[str]:
    """What Hydra offers for the last word of `line`, the words after the subcommand."""
    offered = io.StringIO()
    # Hydra takes the first word for the program and the rest for overrides: the subcommand,
    # on which it would stumble, is gone by now.
    os.environ["COMP_LINE"] = f"ntkexp {line}"
    with _arguments(["-sc", "query=bash"]), contextlib.redirect_stdout(offered):
        _entry(config_name)(_nothing)()
    return [word for word in offered.getvalue().split() if not word.startswith("schema")]


def _nothing(config: DictConfig) -> None:
    raise AssertionError("completion runs no job")


def _choices(config_name: str, words: Sequence[str]) -> list[str]:
    """The values of the option that the last of `words` begins to set, where they have names."""
    from ntkexp.commands.handbook import rows

    key = words[-1].partition("=")[0].lstrip("+")
    where = key.rpartition(".")[0]
    try:
        with composition.by_itself():
            node = OmegaConf.select(composition.compose(config_name, words[:-1]), where)
    except (HydraException, OmegaConfBaseException, UserError):
        return []  # the line is not whole yet
    kind = OmegaConf.get_type(node)
    listed = rows(kind, where) if isinstance(kind, type) and is_dataclass(kind) else ()
    accepted = next((row.accepted for row in listed if row.key == key), "")
    return accepted.split(" | ") if " | " in accepted else []
