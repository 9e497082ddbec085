"""hydra/sweeper=search: a search by Optuna for the options that make a run's number best
(docs/search.md).

Trials of a stored study that are finished count; those that were begun come first, with the same
options, so that their runs resume. Hydra's own plugin for Optuna does neither.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import (
    ChoiceSweep,
    IntervalSweep,
    Override,
    RangeSweep,
)
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from omegaconf import DictConfig

from ntkexp.compose.words import word
from ntkexp.errors import RunTakenError, UserError
from ntkexp.keys import EXECUTION_KEYS
from ntkexp.results.numbers.metric import parsed

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.distributions import BaseDistribution
    from optuna.samplers import BaseSampler
    from optuna.trial import FrozenTrial

# The key of a stored study's metric and overrides: a search with others is another study.
ABOUT = "ntkexp"
# The override of every option of a trial.
WORDS = "words"


class Search:
    """One study: trials that are asked for, made, and told.

    Args:
        n_trials: how many in all, those of earlier calls among them.
        n_jobs: how many at a time; `launcher.jobs` unless told.
        storage: a URL such as sqlite:///search.db; without one a study ends with its process.
        study_name: its name there; that of the experiment unless told.
        direction: minimize or maximize; an accuracy is maximised unless told.
        sampler: tpe or random; `seed` makes it the same search each time.
    """

    def __init__(self, options: Mapping[str, Any], config: DictConfig, launcher: Launcher) -> None:
        self.options, self.config, self.launcher = options, config, launcher
        self.metric = str(config.objective_metric)
        for name in ("n_trials", "n_jobs"):
            if (number := options[name]) is not None and number < 1:
                raise UserError(f"hydra.sweeper.{name}={number}: expected 1 or more")

    def go_on(self, arguments: Sequence[str]) -> None:
        """Run trials until there are `n_trials`, then report the best one."""
        space, fixed = space_of(arguments)
        if not space:
            raise UserError(
                "hydra/sweeper=search: has nothing to choose; expected intervals or several values "
                "of an option, such as 'optim.lr=interval(0.001,0.1)'"
            )
        study = self._study(fixed)
        begun = _in_state(study, "RUNNING", "WAITING")
        failed_before = len(_in_state(study, "FAIL"))
        while (room := self.options["n_trials"] - len(_in_state(study))) > 0 or begun:
            batch, begun = begun[: self._at_once], begun[self._at_once :]
            new = max(0, min(room, self._at_once - len(batch)))
            batch += [_asked(study, space) for _ in range(new)]
            words = [[*fixed, *trial.user_attrs[WORDS]] for trial in batch]
            try:
                returned = self.launcher.launch(words, initial_job_idx=batch[0].number)
            except UserError:
                # No call after this one could make them.
                for trial in batch:
                    study.tell(trial.number, state=_optuna().trial.TrialState.FAIL)
                raise
            for trial, number in zip(batch, returned, strict=True):
                _tell(study, trial, number)
            if self.config.launcher.fail_fast and len(_in_state(study, "FAIL")) > failed_before:
                break
        print(_summary(study, self.metric))

    @property
    def _at_once(self) -> int:
        return int(self.options["n_jobs"] or self.config.launcher.jobs or 1)

    def _study(self, fixed: Sequence[str]) -> Study:
        optuna = _optuna()
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        storage = self.options["storage"]
        if storage is not None and storage.startswith("sqlite:///"):
            Path(storage.removeprefix("sqlite:///")).parent.mkdir(parents=True, exist_ok=True)
        try:
            study: Study = optuna.create_study(
                study_name=self.options["study_name"] or self.config.name,
                storage=storage,
                direction=self.options["direction"] or parsed(self.metric).direction,
                load_if_exists=True,
            )
        except Exception as error:  # whatever its data base raises
            reason = str(error).partition("\n")[0]
            raise UserError(f"hydra.sweeper.storage={storage}: {reason}") from error
        about = {"metric": self.metric, "words": sorted(filter(_decides, fixed))}
        if study.user_attrs.get(ABOUT, about) != about:
            before = " ".join(
                [*study.user_attrs[ABOUT]["words"], study.user_attrs[ABOUT]["metric"]]
            )
            raise UserError(
                f"hydra.sweeper.study_name={study.study_name}: was begun with other words "
                f"({before}); expected those or another name"
            )
        study.set_user_attr(ABOUT, about)
        study.sampler = self._sampler(len(study.trials))
        return study

    def _sampler(self, trials: int) -> BaseSampler:
        """A sampler with a seed would begin as it did before the trials that there are."""
        samplers = _optuna().samplers
        seed = self.options["seed"]
        seed = None if seed is None else seed + trials
        kinds = {"tpe": samplers.TPESampler, "random": samplers.RandomSampler}
        sampler: BaseSampler = kinds[self.options["sampler"]](seed=seed)
        return sampler


def _decides(override: str) -> bool:
    """True for an override that decides what is computed, not how or where."""
    return override.lstrip("+").partition("=")[0].partition(".")[0] not in EXECUTION_KEYS


def space_of(arguments: Sequence[str]) -> tuple[dict[str, BaseDistribution], list[str]]:
    """The distributions to draw from, by key, and the overrides that all runs share."""
    # What is typed comes after what an experiment sweeps by itself, and takes its place.
    last = {
        override.get_key_element(): override
        for override in OverridesParser.create().parse_overrides(list(arguments))
    }
    space = {
        key: _distribution(override)
        for key, override in last.items()
        if override.is_sweep_override()
    }
    return space, [str(override.input_line) for key, override in last.items() if key not in space]


def _distribution(override: Override) -> BaseDistribution:
    from optuna import distributions

    sweep = override.value()
    try:
        if isinstance(sweep, IntervalSweep):
            assert sweep.start is not None
            assert sweep.end is not None
            log = "log" in sweep.tags
            if isinstance(sweep.start, int) and isinstance(sweep.end, int):
                return distributions.IntDistribution(sweep.start, sweep.end, log=log)
            return distributions.FloatDistribution(sweep.start, sweep.end, log=log)
        if isinstance(sweep, RangeSweep) and isinstance(sweep.start, int) and sweep.step == 1:
            values = [int(str(number)) for number in override.sweep_iterator()]
            if not values:
                raise ValueError("has no values; expected one or more to choose from")
            return distributions.IntDistribution(min(values), max(values))
        if isinstance(sweep, ChoiceSweep | RangeSweep):
            # As they would be typed: a choice may be a list, or a word in quotes.
            return distributions.CategoricalDistribution(list(override.sweep_string_iterator()))
    except ValueError as error:
        raise UserError(f"{override.input_line}: {error}") from error
    raise UserError(f"{override.input_line}: expected interval(a,b), range(a,b) or values")


def _asked(study: Study, space: Mapping[str, BaseDistribution]) -> Trial:
    trial = study.ask(dict(space))
    words = [
        f"{key}={value if isinstance(value, str) else word(value)}"
        for key, value in trial.params.items()
    ]
    # Written down before its run begins: whoever finds the trial begun can go on with it.
    trial.set_user_attr(WORDS, words)
    return trial


def _tell(study: Study, trial: Trial | FrozenTrial, returned: JobReturn) -> None:
    states = _optuna().trial.TrialState
    if returned.status is JobStatus.COMPLETED:
        study.tell(trial.number, returned.return_value)
    elif not isinstance(returned._return_value, RunTakenError):
        study.tell(trial.number, state=states.FAIL)
    # A run that another process works on is its trial, and stays begun.


def _in_state(study: Study, *names: str) -> list[Any]:
    """The trials in one of these states, or in any, whose options are known.

    A trial that a kill cut off while it was asked for has none: it counts for nothing.
    """
    trials = [trial for trial in study.get_trials(deepcopy=False) if WORDS in trial.user_attrs]
    return [trial for trial in trials if not names or trial.state.name in names]


def _summary(study: Study, metric: str) -> str:
    states = {"finished": "COMPLETE", "failed": "FAIL", "going on": "RUNNING"}
    counts = {outcome: len(_in_state(study, state)) for outcome, state in states.items()}
    head = f"{study.study_name}: {len(_in_state(study))} trials, " + ", ".join(
        f"{count} {outcome}" for outcome, count in counts.items() if count
    )
    if not counts["finished"]:
        return head
    best = study.best_trial
    return f"{head}\nbest {metric} = {best.value:.6g}: {shlex.join(best.user_attrs[WORDS])}"


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise UserError("hydra/sweeper=search: needs pip install 'ntkexp[optuna]'") from error
    return optuna
