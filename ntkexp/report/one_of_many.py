"""The first network of a run of many: curves of several in one table would run together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pandas as pd

from ntkexp.results.record import Record

MEMBERS = "members"
# Of the table of members; its other columns are what the networks differ in.
ENDS = ("step", "outcome")


def first_of(record: Record) -> Record:
    """The run with the rows of its first network alone; a run of one network as it is."""
    if MEMBERS not in record.tables:
        return record
    first = record.tables[MEMBERS].iloc[0]
    own = {key: first[key] for key in first.index if key not in ENDS}
    return replace(record, tables=_OfOne(record.tables, own))


def which_network(record: Record) -> str:
    """`the first of 6 networks: seed 0`; nothing of a run of one."""
    if MEMBERS not in record.tables:
        return ""
    members = record.tables[MEMBERS]
    keys = [key for key in members.columns if key not in ENDS]
    values = ", ".join(f"{key} {members[key].iloc[0]}" for key in keys)
    return f"the first of {len(members)} networks: {values}"


@dataclass(frozen=True)
class _OfOne(Mapping[str, pd.DataFrame]):
    """Tables, each cut down to the rows of one network when it is asked for."""

    tables: Mapping[str, pd.DataFrame]
    own: Mapping[str, object]

    def __getitem__(self, name: str) -> pd.DataFrame:
        frame = self.tables[name]
        for key, value in self.own.items():
            if key in frame:
                frame = frame[frame[key] == value]
        return frame

    def __contains__(self, name: object) -> bool:
        return name in self.tables

    def __iter__(self) -> Iterator[str]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)
