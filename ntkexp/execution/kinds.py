"""The two kinds of run, training runs and studies: what each of them builds and reads."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from omegaconf import DictConfig, OmegaConf

from ntkexp import members
from ntkexp.compose.finalise import located, parents
from ntkexp.config import StudyConfig, TrainConfig
from ntkexp.results.numbers import metric

if TYPE_CHECKING:
    from ntkexp.results.table import Table
    from ntkexp.training.prepared import Ready


@dataclass(frozen=True)
class Kind:
    """Training runs or studies.

    Args:
        name: the subcommand.
        preload: imports what `prepare` needs, and refuses what can be refused without data.
        prepare: builds and loads all that the run needs, before a folder is made for it.
        data: checksums of the files that a run would read here, found without loading them.
    """

    name: str
    preload: Callable[[DictConfig], None]
    prepare: Callable[[DictConfig], Ready]
    data: Callable[[DictConfig], Mapping[str, str]]


def kind_of(config: DictConfig) -> Kind:
    return study if "study" in config else train


def refuse_unknown_metric(config: DictConfig, tables: Sequence[Table]) -> None:
    """Refuse an `objective_metric` that no row of these tables will have."""
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


def _preload_training(config: DictConfig) -> None:
    # torch and pandas are worth their seconds only where there is work to do.
    from ntkexp.training import experiment

    plain = _training(config)
    refuse_unknown_metric(config, experiment.tables(plain, experiment.build_probes(plain)))
    _preload_results()


def _prepare_training(config: DictConfig) -> Ready:
    from ntkexp.training import experiment

    many = members.of_config(config) if config.members else []
    ready = experiment.prepare(
        _training(located(config)),
        [(values, _training(located(member))) for values, member in many],
    )
    return _with_parents(ready, config)


def _data_of_training(config: DictConfig) -> Mapping[str, str]:
    return {**_training(config).data.files(), **_files_of_parents(config)}


def _data_of_study(config: DictConfig) -> Mapping[str, str]:
    return {**_study(config).study.files(), **_files_of_parents(config)}


def _files_of_parents(config: DictConfig) -> Mapping[str, str]:
    return {parent.provenance_name: parent.checksum for parent in parents(config)}


def _training(config: DictConfig) -> TrainConfig:
    plain = OmegaConf.to_object(config)
    assert isinstance(plain, TrainConfig)
    return plain


def _preload_study(config: DictConfig) -> None:
    importlib.import_module("pandas")
    if config.objective_metric is not None:
        from ntkexp.training import study

        refuse_unknown_metric(config, study.tables_of(_study(config)))
    _preload_results()


def _preload_results() -> None:
    from ntkexp.results.provenance import provenance

    importlib.import_module("ntkexp.results.store")
    provenance()


def _prepare_study(config: DictConfig) -> Ready:
    from ntkexp.training import study

    many = members.of_config(config) if config.members else []
    ready = study.prepare(
        _study(located(config)), [(values, _study(located(member))) for values, member in many]
    )
    return _with_parents(ready, config)


def _study(config: DictConfig) -> StudyConfig:
    plain = OmegaConf.to_object(config)
    assert isinstance(plain, StudyConfig)
    return plain


train = Kind("train", _preload_training, _prepare_training, _data_of_training)
study = Kind("study", _preload_study, _prepare_study, _data_of_study)
