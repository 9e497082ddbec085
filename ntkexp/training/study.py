"""From a checked config of a study to what the loop brings to its end."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ntkexp import probes
from ntkexp.config import StudyConfig
from ntkexp.errors import UserError
from ntkexp.members import Columns
from ntkexp.results.table import Table
from ntkexp.training import device as devices
from ntkexp.training.members.side_by_side import Members, tables_of_members
from ntkexp.training.parts import Parts
from ntkexp.training.prepared import Ready, check_of
from ntkexp.training.schedule import looks_of
from ntkexp.training.work import Work, refuse_unoffered


def prepare(config: StudyConfig, members: Sequence[tuple[Columns, StudyConfig]] = ()) -> Ready:
    """The study's own work, or its parts; of many side by side the works of all."""
    device = devices.resolve(config.device)
    devices.set_precision(device, tf32=False, deterministic=False)
    work: Work = work_of(config, device)
    tables = tables_of(config)
    built = [probes.build(config.probe)]
    if members:
        refuse_without_steps(tables, config.study.name)
        columns = [values for values, _ in members]
        tables = tables_of_members(tables, columns[0])
        work = Members([work_of(one, device) for _, one in members], columns, tables)
        built = [probes.build(one.probe) for _, one in members]
    refuse_unoffered(built[0], work)
    for probe in built[0].values():
        probe.check(config)
    return Ready(
        work=work,
        tables=tables,
        looks=looks_of(config.probing, work.last),
        probes=built,
        data=config.study.files(),
        keep_at=config.keep.weights,
        device=device,
        check=check_of(config),
        label=config.study.name,
        about=devices.facts(device) | {"remarks": getattr(work, "remarks", ())},
    )


def refuse_without_steps(tables: Sequence[Table], study: str) -> None:
    """By steps the rows of many are in one order, whenever a run was cut short."""
    for table in tables:
        if "step" not in table.columns:
            raise UserError(
                f"members: study={study} makes no steps (table {table.name} has no column step); "
                "expected a sweep (-m)"
            )


def work_of(config: StudyConfig, device: torch.device) -> Work:
    return config.study.work(device) or Parts(config.study)


def tables_of(config: StudyConfig) -> list[Table]:
    found = list(config.study.tables)
    for probe in probes.build(config.probe).values():
        found += [table for table in probe.tables if table not in found]
    return found
