"""Hydra at work: from command-line words to a composed config and the job that takes it."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ntkexp.compose import composition
from ntkexp.compose.finalise import finalise
from ntkexp.compose.overrides import (
    check_overrides,
    explained,
    plain_errors,
    ranges_quoted,
    typed_keys,
)
from ntkexp.errors import RunFailed, SweepStopped, UserError, denied, meant
from ntkexp.execution.outcome import DONE, FAILED, metric_of
from ntkexp.execution.run import Typed
from ntkexp.execution.run import run as run_to_its_end
from ntkexp.identity import folder_of
from ntkexp.usage import CommandParser

# Flags of ours, and the keys they stand for.
KEYS_OF_FLAGS = {
    "--rerun": "rerun",
    "--dry-run": "launcher.dry_run",
    "--fail-fast": "launcher.fail_fast",
    "--retry-failed": "launcher.retry_failed",
    "--with-parents": "with_parents",
}
# Flags that a single run takes as well; each of the others makes a sweep.
OF_ANY_RUN = ("--rerun", "--with-parents")
CFG = ("job", "hydra", "all")
INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
# Flags for what Hydra does with the config: one at a time.
WAYS = ("multirun", "run", "cfg", "info")


def run(config_name: str, words: Sequence[str]) -> int:
    """Compose `config_name` with the overrides in `words` and carry it out.

    Returns the worst of the exit codes of the jobs that `words` ask for.
    """
    # A flag and its key say the same: a dry run that would train is none.
    words = ["--dry-run" if word.lower() == "launcher.dry_run=true" else word for word in words]
    flags, overrides = flags_and_overrides(ranges_quoted(words))
    task = Task(one_run=_dry_run_of_one(words))
    sweeping = "--multirun" in flags
    with _arguments([*flags, *overrides], sweeping), plain_errors(config_name, words):
        check_overrides(overrides, sweeping=sweeping and not task.one_run)
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
        typed = Typed(frozenset(typed_keys(words)))
        try:
            finalise(config, typed.keys)
            folder = folder_of(config)
            self.codes.append(code := run_to_its_end(config, folder, typed))
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


def _dry_run_of_one(words: Sequence[str]) -> bool:
    """True if a dry run is about the one run that the same words make without the flag: there is
    neither -m nor another flag of sweeps beside it."""
    of_sweeps = {*KEYS_OF_FLAGS, "-m", "--multirun"}.difference(OF_ANY_RUN)
    return of_sweeps.intersection(words) == {"--dry-run"}


def flags_and_overrides(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Flags for Hydra, and overrides: Hydra 1.3 rejects a flag that stands between overrides.

    >>> flags_and_overrides(["optim.lr=0.1,0.2", "-m", "seed=1"])
    (['--multirun'], ['optim.lr=0.1,0.2', 'seed=1'])
    """
    arguments, overrides = flag_parser().parse_known_args(words)
    flags, of_sweeps = [], False
    for flag, value in vars(arguments).items():
        name = f"--{flag.replace('_', '-')}"
        if not value:
            continue
        if name in KEYS_OF_FLAGS:
            overrides.append(f"{KEYS_OF_FLAGS[name]}=true")
            of_sweeps |= name not in OF_ANY_RUN
        else:
            flags += [name] if value is True else [name, value]
    # The flags of sweeps make a sweep, even of one job.
    if of_sweeps and not arguments.multirun:
        arguments.multirun, flags = True, ["--multirun", *flags]
    for word in overrides:
        if word.startswith("-"):
            accepted = [flag for flag in all_flags() if flag.startswith("--")]
            raise UserError(
                f"{word}: no such flag{meant(word, accepted)}\naccepted are: {', '.join(accepted)}"
            )
    if len(ways := [f"--{way}" for way in WAYS if getattr(arguments, way)]) > 1:
        raise UserError(f"{' and '.join(ways)}: expected one of them")
    if arguments.resolve and not arguments.cfg:
        raise UserError("--resolve: says how --cfg prints; expected --cfg job beside it")
    return flags, overrides


def flag_parser() -> CommandParser:
    """The flags of train and study: ours, and those of Hydra's that make sense here."""
    parser = CommandParser("train")
    for flag in (*KEYS_OF_FLAGS, "--resolve"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("-m", "--multirun", action="store_true")
    parser.add_argument("-r", "--run", action="store_true")
    parser.add_argument("-c", "--cfg", choices=CFG)
    parser.add_argument("-i", "--info", choices=INFO)
    parser.add_argument("-p", "--package")
    parser.add_argument("-cd", "--config-dir")
    return parser


def all_flags() -> list[str]:
    return [name for action in flag_parser()._actions for name in action.option_strings]


def complete(config_name: str, line: str) -> list[str]:
    """Candidates for the last word of `line`, the words after the subcommand."""
    offered = io.StringIO()
    # Hydra takes the first word for the program and the rest for overrides: the subcommand,
    # on which it would stumble, is gone by now.
    os.environ["COMP_LINE"] = f"ntkexp {line}"
    with _arguments(["-sc", "query=bash"]), contextlib.redirect_stdout(offered):
        _entry(config_name)(_nothing)()
    return [word for word in offered.getvalue().split() if not word.startswith("schema")]


def _nothing(config: DictConfig) -> None:
    raise AssertionError("completion runs no job")


def choices(config_name: str, words: Sequence[str]) -> list[str]:
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
