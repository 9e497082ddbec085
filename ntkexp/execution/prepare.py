"""Builds and checks the data, the network and the probes of a run, before there is its folder.

A config with a `study` is one of `ntkexp study`, every other one of `ntkexp train`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from omegaconf import DictConfig, OmegaConf

from ntkexp import members
from ntkexp.compose.finalise import located, parents
from ntkexp.config import StudyConfig, TrainConfig
from ntkexp.references import name_references
from ntkexp.results.numbers import metric

if TYPE_CHECKING:
    from ntkexp.results.table import Table
    from ntkexp.training.prepared import Ready


def prepare(config: DictConfig) -> Ready:
    """Build and load all that a run needs; nothing of it is written."""
    many = [
        (values, _plain(located(member)))
        for values, member in (members.of_config(config) if config.members else ())
    ]
    plain = _plain(located(config))
    if not isinstance(plain, TrainConfig):
        from ntkexp.training import study

        ready = study.prepare(plain, many)  # type: ignore[arg-type]
    elif many:
        from ntkexp.training.members import stacked

        ready = stacked.prepare(plain, many)  # type: ignore[arg-type]
    else:
        from ntkexp.training import experiment

        ready = experiment.prepare(plain)
    return replace(ready, data={**ready.data, **_files_of_runs(config)})


def _plain(config: DictConfig) -> TrainConfig | StudyConfig:
    plain = OmegaConf.to_object(config)
    assert isinstance(plain, TrainConfig | StudyConfig)
    name_references(plain, config)
    return plain


def _files_of_runs(config: DictConfig) -> Mapping[str, str]:
    """The checksums of the files of other runs, which count among the data of a run."""
    return {parent.provenance_name: parent.checksum for parent in parents(config)}


def checksums(config: DictConfig) -> Mapping[str, str]:
    """The checksums of the files that a run would read here, found without loading them."""
    plain = _plain(config)
    images = (plain.data if isinstance(plain, TrainConfig) else plain.study).files()
    return {**images, **_files_of_runs(config)}


def command_of(config: DictConfig) -> str:
    """The subcommand that a config is for."""
    return "study" if "study" in config else "train"


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


def preload(config: DictConfig) -> None:
    """Import what `prepare` needs, and refuse what can be refused without data."""
    from ntkexp.results.provenance import provenance

    refuse_unknown_metric(config, _tables(config))
    importlib.import_module("ntkexp.results.store")
    provenance()


def _tables(config: DictConfig) -> Sequence[Table]:
    # torch and pandas are worth their seconds only where there is work to do.
    plain = _plain(config)
    if isinstance(plain, TrainConfig):
        from ntkexp.training import experiment

        return experiment.tables(plain, experiment.build_probes(plain))
    from ntkexp.training import study

    return study.tables_of(plain)
