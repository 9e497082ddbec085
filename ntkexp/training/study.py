"""From a checked config of a study to the work that the loop brings to its end: its parts, none of
which depends on another, or a work of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ntkexp import probes
from ntkexp.config import StudyConfig
from ntkexp.errors import UserError
from ntkexp.members import Columns
from ntkexp.results.table import Table
from ntkexp.studies.base import Study
from ntkexp.studies.stepped import Row, SteppedWork
from ntkexp.training import device as devices
from ntkexp.training.place import Place
from ntkexp.training.prepared import Ready, check_of, refuse_unoffered
from ntkexp.training.schedule import listed, looks_of
from ntkexp.training.work import Work


def prepare(config: StudyConfig, members: Sequence[tuple[Columns, StudyConfig]] = ()) -> Ready:
    """The study's own work, or its parts; of many side by side the works of all."""
    device = devices.resolve(config.device)
    devices.set_precision(device, tf32=False, deterministic=False)
    work: Work = work_of(Place(config, device))
    built = [probes.build(config.probe)]
    tables = probes.all_tables(config.study.tables, built[0])
    if members:
        from ntkexp.training.members.side_by_side import tables_of_members
        from ntkexp.training.members.stepped import side_by_side

        refuse_without_steps(tables, config.study.name)
        columns = [values for values, _ in members]
        tables = tables_of_members(tables, columns[0])
        works = [work_of(Place(member, device)) for _, member in members]
        work = side_by_side(works, columns, tables)
        built = [probes.build(member.probe) for _, member in members]
    refuse_unoffered(built[0], work)
    for probe in built[0].values():
        probe.check(config)
    steps = getattr(work, "steps", ())  # those of checkpoints, which are all there is to see
    return Ready(
        work=work,
        tables=tables,
        looks=listed(steps) if steps else looks_of(config.probing, work.last),
        probes=built,
        data=config.study.files(),
        keep_at=config.keep.weights,
        device=device,
        check=check_of(config),
        label=config.study.name,
        about=devices.facts(device) | {"remarks": getattr(work, "remarks", ())},
    )


def refuse_without_steps(tables: Sequence[Table], study: str) -> None:
    """Refuse tables without steps, by which the rows of many keep one order after any cut."""
    for table in tables:
        if "step" not in table.columns:
            raise UserError(
                f"members: study={study} makes no steps (table {table.name} has no column step); "
                "expected a sweep (-m)"
            )


def work_of(place: Place) -> Work:
    return place.config.study.work(place) or Parts(place.config.study)


class Parts(SteppedWork):
    """Works out the parts of a study one after the other."""

    offers: frozenset[str] = frozenset()

    def __init__(self, study: Study) -> None:
        self.study, self.parts = study, study.parts()
        super().__init__(last=len(self.parts))

    def update(self, step: int) -> Row:
        for name, result in self.study.results_of(self.parts[step]).items():
            if isinstance(result, np.ndarray):
                self.keep(name, result)
            else:
                self.write(name, {str(column): result[column].to_numpy() for column in result})
        return {}
