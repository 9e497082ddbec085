"""`ntkexp.run`: one run, from Python or a notebook, which leaves the process as it found it."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from ntkexp.compose.composition import by_itself, compose
from ntkexp.compose.finalise import finalise, forget_parents
from ntkexp.compose.overrides import check_overrides, plain_errors, ranges_quoted, typed_keys
from ntkexp.compose.swaps import typed_here
from ntkexp.compose.words import Overrides, word, words_of
from ntkexp.errors import RunFailed, UserError, meant
from ntkexp.execution import run as life
from ntkexp.execution.outcome import DONE, FAILED
from ntkexp.execution.process import undisturbed
from ntkexp.experiments import experiments, experiments_of
from ntkexp.home import at_home
from ntkexp.results.status import read_status

if TYPE_CHECKING:
    from ntkexp.results import Record

# Threads and precision are the process's: two runs at once would set each other's.
_one_at_a_time = threading.RLock()


def run(
    experiment: str | None = None,
    overrides: Overrides = (),
    *,
    runs: str | Path | None = None,
    config_dir: str | Path | None = None,
) -> Record:
    """Bring a run to its end and return it with its tables; one that is done already is loaded.

        run = ntkexp.run("mlp_mnist", {"model.width": 40, "seed": 3})
        run.tables["evals"]

    It is the run that `ntkexp train +exp=mlp_mnist model.width=40 seed=3` makes, in the same
    folder. Threads, precision and signal handlers are afterwards as they were.
    Several threads may call it; the runs are made one after the other.

    Args:
        experiment: one of those that `ntkexp list` has; without one, overrides say everything.
        overrides: what one would type, a dict (`{"optim.lr": 0.1}`) or words (`["optim.lr=0.1"]`).
        runs: the folder of runs, `paths.outputs`; `outputs` unless told.
        config_dir: a further folder of configs, as `--config-dir` names it.

    Raises:
        UserError: bad input, in one line; nothing is left behind.
        RunFailed: the run failed or diverged, now or when it was made.
        KeyboardInterrupt: on Ctrl-C, once all is committed: the same call goes on from there.
    """
    with _one_at_a_time:
        folder, code = _carried_out(experiment, words_of(overrides), runs, config_dir)
    if code == FAILED:
        raise _failure(folder)
    if code != DONE:
        _interrupted(code - 128)
    from ntkexp.results import read

    return read(folder)


def _carried_out(
    experiment: str | None,
    words: list[str],
    runs: str | Path | None,
    config_dir: str | Path | None,
) -> tuple[Path, int]:
    """The run's folder, and the exit code that the command line would have."""
    configs = None if config_dir is None else Path(at_home(config_dir))
    name = _command(experiment, words, configs)
    if experiment is not None:
        words = [f"+exp={experiment}", *words]
    if runs is not None:
        words = [*words, f"paths.outputs={word(str(runs))}"]
    words = [*map(at_home, ranges_quoted(words))]
    forget_parents()
    with by_itself(configs):
        with typed_here(words), plain_errors(name, words):
            check_overrides(words, sweeps="expected one run a call")
            plan = finalise(compose(name, words), frozenset(typed_keys(words)))
        return plan.folder, life.run(plan, undisturbed)


def _command(experiment: str | None, words: list[str], config_dir: Path | None) -> str:
    """The subcommand, train or study, of an experiment, or of overrides without one."""
    for override in words:
        key = override.lstrip("+").partition("=")[0]
        if key == "exp" or key.startswith("hydra"):
            accepted = "ntkexp.run('NAME', ...)" if key == "exp" else "keys of the run alone"
            raise UserError(f"{override}: cannot be set here; expected {accepted}")
    if experiment is None:
        return "study" if "study" in typed_keys(words) else "train"
    listed = [*experiments(), *(experiments_of(config_dir) if config_dir else ())]
    commands = {entry.name: entry.command for entry in listed}
    if experiment in commands:
        return commands[experiment]
    names = list(commands)
    raise UserError(f"{experiment}: no such experiment{meant(experiment, names)} (see ntkexp list)")


def _failure(folder: Path) -> RunFailed:
    status = read_status(folder) or {}
    reason = str(status.get("reason", "no reason is known"))
    if "traceback" in status:
        reason += f" (its traceback: {folder / status['traceback']})"
    return RunFailed(folder, reason)


def _interrupted(number: int) -> None:
    """Pass on the signal that ended a run, now that the caller's handlers are back."""
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    os.kill(os.getpid(), number)
