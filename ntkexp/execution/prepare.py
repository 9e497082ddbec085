"""Builds and checks the data, the network and the probes of a run, before there is its folder.

A config with a `study` is one of `ntkexp study`, every other one of `ntkexp train`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ntkexp.compose.plan import Plan
from ntkexp.config import TrainConfig
from ntkexp.results.numbers import metric

if TYPE_CHECKING:
    from ntkexp.results.table import Table
    from ntkexp.training.prepared import Ready


def prepare(plan: Plan) -> Ready:
    """Build and load all that a run needs; nothing of it is written."""
    plain = plan.plain()
    many = [(columns, member.plain()) for columns, member in plan.members]
    if not isinstance(plain, TrainConfig):
        from ntkexp.training import study

        ready = study.prepare(plain, many)  # type: ignore[arg-type]
    elif many:
        from ntkexp.training.members import stacked

        ready = stacked.prepare(plain, many)  # type: ignore[arg-type]
    else:
        from ntkexp.training import experiment

        ready = experiment.prepare(plain)
    return replace(ready, data={**ready.data, **_files_of_runs(plan)})


def _files_of_runs(plan: Plan) -> Mapping[str, str]:
    """The checksums of the files of other runs, which count among the data of a run."""
    return {parent.provenance_name: parent.checksum for parent in plan.needs}


def checksums(plan: Plan) -> Mapping[str, str]:
    """The checksums of the files that a run would read here, found without loading them."""
    plain = plan.plain()
    images = (plain.data if isinstance(plain, TrainConfig) else plain.study).files()
    return {**images, **_files_of_runs(plan)}


def preload(plan: Plan) -> None:
    """Import what `prepare` needs, and refuse what can be refused without data."""
    from ntkexp.results.provenance import provenance

    refuse_unknown_metric(plan, _tables(plan))
    work = "experiment" if plan.command == "train" else "study"
    for module in ("results.store", f"training.{work}"):
        importlib.import_module(f"ntkexp.{module}")
    provenance()


def refuse_unknown_metric(plan: Plan, tables: Sequence[Table]) -> None:
    """Refuse an `objective_metric` that no row of these tables will have."""
    if plan.config.objective_metric is not None:
        metric.refuse_unknown(plan.config.objective_metric, tables)


def _tables(plan: Plan) -> Sequence[Table]:
    # torch and pandas are worth their seconds only where there is work to do.
    from ntkexp import probes
    from ntkexp.training.supervised import Supervised

    plain = plan.plain()
    own = Supervised.tables(plain) if isinstance(plain, TrainConfig) else plain.study.tables
    tables = probes.all_tables(own, probes.build(plain.probe))
    if plan.members:
        from ntkexp.training.members.side_by_side import tables_of_members

        columns, _ = plan.members[0]
        tables = tables_of_members(tables, columns)
    return tables
