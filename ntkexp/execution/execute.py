"""What `ntkexp train` and `ntkexp study` do with a composed config: skip the run, or carry it
out."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import DictConfig, OmegaConf

from ntkexp import members
from ntkexp.compose.finalise import Parent, finalise, located, parents
from ntkexp.config import StudyConfig, TrainConfig
from ntkexp.execution.life import NOTHING, Asked, live, signals
from ntkexp.execution.needed import refuse_unmet
from ntkexp.execution.outcome import DONE, known
from ntkexp.identity import folder_of
from ntkexp.machine.freed_memory import keep_freed_memory
from ntkexp.results.numbers import metric

if TYPE_CHECKING:
    from ntkexp.results.table import Table
    from ntkexp.training.prepared import Ready


@contextmanager
def as_program() -> Iterator[list[int]]:
    """Surrounds the life of a run in a process that exists for it alone."""
    keep_freed_memory()
    with signals() as asked:
        yield asked


@dataclass(frozen=True)
class Command:
    """What a subcommand does with a composed config, in steps that a sweep can take apart.

    `prepare` builds and loads what the run needs, so
    that whatever is wrong is known before a folder is made; `preload` imports what `prepare` needs
    and refuses what it can refuse without data; `data` are the checksums of the files that a run
    would read here, found without loading them. `life` surrounds the life of a run and collects
    the signals that ask it to stop.
    """

    preload: Callable[[DictConfig], None]
    prepare: Callable[[DictConfig], Ready]
    data: Callable[[DictConfig], Mapping[str, str]]
    life: Callable[[], AbstractContextManager[Sequence[int]]] = as_program

    def __call__(self, config: DictConfig, typed: frozenset[str]) -> int:
        """The whole of it, unless it is done already; `typed` are the keys the user set."""
        finalise(config, typed)
        return self.run_if_needed(config, folder_of(config), Asked(typed))

    def run_if_needed(self, config: DictConfig, folder: Path, words: Asked = NOTHING) -> int:
        """Carry out the run in `folder`, unless it is done already."""
        if (code := known(config, folder, self.data)) is not None:
            return code
        refuse_unmet(config)
        for parent in parents(config):
            if code := self._make(parent):
                return code
        return self.run(config, folder, words)

    def run(self, config: DictConfig, folder: Path, words: Asked = NOTHING) -> int:
        """Carry out one life of the run in `folder`. Returns its exit code, once the run's own
        status is written."""
        with self.life() as asked:
            began = time.monotonic()
            ready = self.prepare(config)
            _refuse_unknown_metric(config, ready.tables)
            if asked:
                print("interrupted before the run began", file=sys.stderr)
                return 128 + asked[0]
            return live(ready, config, folder, words, asked, began)

    def _make(self, parent: Parent) -> int:
        """Make a run that is needed, unless it is there. Returns its exit code."""
        if parent.finished:
            return DONE
        assert parent.how is not None
        command = replace(COMMANDS[parent.how.command], life=self.life)
        return command.run_if_needed(parent.how.config, parent.folder, Asked(parent.how.typed))


def _refuse_unknown_metric(config: DictConfig, tables: Sequence[Table]) -> None:
    if config.objective_metric is None:
        return
    if config.members:
        from ntkexp.training.members.side_by_side import MEMBERS, tables_of_members

        if MEMBERS.name not in [table.name for table in tables]:
            columns, _ = members.of_config(config)[0]
            tables = tables_of_members(tables, columns)
    metric.refuse_unknown(config.objective_metric, tables)


def _with_parents(ready: Ready, config: DictConfig) -> Ready:
    """The files of other runs count among the data that a run is made from."""
    return replace(ready, data={**ready.data, **_files_of_parents(config)})


def _files_of_parents(config: DictConfig) -> Mapping[str, str]:
    return {parent.provenance_name: parent.checksum for parent in parents(config)}


def _preload_training(config: DictConfig) -> None:
    # torch and pandas are worth their seconds only where there is work to do.
    from ntkexp.training import experiment

    plain = _training(config)
    _refuse_unknown_metric(config, experiment.tables(plain, experiment.build_probes(plain)))
    _preload_results()


def _prepare_training(config: DictConfig) -> Ready:
    from ntkexp.training import experiment

    many = members.of_config(config) if config.members else []
    ready = experiment.prepare(
        _training(located(config)),
        [(values, _training(located(one))) for values, one in many],
    )
    return _with_parents(ready, config)


def _training_data(config: DictConfig) -> Mapping[str, str]:
    return {**_training(config).data.files(), **_files_of_parents(config)}


def _training(config: DictConfig) -> TrainConfig:
    plain = OmegaConf.to_object(config)
    assert isinstance(plain, TrainConfig)
    return plain


def _preload_study(config: DictConfig) -> None:
    importlib.import_module("pandas")
    if config.objective_metric is not None:
        from ntkexp.training import study

        _refuse_unknown_metric(config, study.tables_of(_study(config)))
    _preload_results()


def _preload_results() -> None:
    from ntkexp.results.provenance import provenance

    importlib.import_module("ntkexp.results.store")
    provenance()


def _prepare_study(config: DictConfig) -> Ready:
    from ntkexp.training import study

    many = members.of_config(config) if config.members else []
    ready = study.prepare(
        _study(located(config)), [(values, _study(located(one))) for values, one in many]
    )
    return _with_parents(ready, config)


def _study(config: DictConfig) -> StudyConfig:
    plain = OmegaConf.to_object(config)
    assert isinstance(plain, StudyConfig)
    return plain


train = Command(_preload_training, _prepare_training, _training_data)
study = Command(_preload_study, _prepare_study, _files_of_parents)
COMMANDS = {"train": train, "study": study}
