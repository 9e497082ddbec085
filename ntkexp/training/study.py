"""From a checked config of a study to what the loop brings to its end: its parts, none of which
depends on another, or a work of its own."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ntkexp import probes
from ntkexp.config import StudyConfig
from ntkexp.errors import UserError
from ntkexp.members import Columns
from ntkexp.probes import View
from ntkexp.results.table import Table
from ntkexp.studies.base import Study
from ntkexp.training import device as devices
from ntkexp.training.members.side_by_side import Members, tables_of_members
from ntkexp.training.prepared import Ready, check_of
from ntkexp.training.schedule import looks_of
from ntkexp.training.work import Kept, Work, Written, refuse_unoffered

BURST_SECONDS = 0.5


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
        work = Members([work_of(member, device) for _, member in members], columns, tables)
        built = [probes.build(member.probe) for _, member in members]
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
    tables = list(config.study.tables)
    for probe in probes.build(config.probe).values():
        tables += [table for table in probe.tables if table not in tables]
    return tables


class Parts:
    """Works out the parts of a study one after the other."""

    offers: frozenset[str] = frozenset()

    def __init__(self, study: Study) -> None:
        self.study, self.parts = study, study.parts()
        self.step, self.last = 0, len(self.parts)
        self._written: list[Written] = []
        self._kept: dict[str, bytes] = {}

    @property
    def over(self) -> bool:
        return self.step >= self.last

    @property
    def figures(self) -> Mapping[str, float]:
        return {}

    def advance(self, to: int) -> str | None:
        until = time.monotonic() + BURST_SECONDS
        while self.step < to:
            for name, result in self.study.found_by(self.parts[self.step]).items():
                if isinstance(result, np.ndarray):
                    self._kept[f"{name}.npy"] = _npy(result)
                else:
                    columns = {str(column): result[column].to_numpy() for column in result}
                    self._written.append((name, columns))
            self.step += 1
            if time.monotonic() >= until:
                break
        return None

    @contextmanager
    def looked_at(self, event: str | None, *, scheduled: bool) -> Iterator[Sequence[View]]:
        yield []

    def rows(self) -> list[Written]:
        written, self._written = self._written, []
        return written

    def state(self) -> dict[str, Any]:
        return {"step": self.step}

    def restore(self, state: dict[str, Any], kept: Kept) -> None:
        self.step = state["step"]

    def kept_files(self) -> Mapping[str, bytes]:
        kept, self._kept = self._kept, {}
        return kept

    def files(self) -> Mapping[str, bytes]:
        return {}


def _npy(array: NDArray[np.generic]) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()
