"""Measurements along training: one file a probe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ntkexp import components
from ntkexp.optim.observer import Forward
from ntkexp.probes.base import Probe, Update
from ntkexp.probes.view import Batch, NetworkView, View
from ntkexp.results.table import Rows, Table

__all__ = [
    "Batch",
    "Forward",
    "NetworkView",
    "Probe",
    "Rows",
    "Update",
    "View",
    "all_tables",
    "build",
]


def build(selected: Mapping[str, Any]) -> dict[str, Probe]:
    """The probes of a config node `probe: {key: options}`, their options checked for type."""
    return {str(key): _build(str(key), options) for key, options in selected.items()}


def all_tables(own: Iterable[Table], probes: Mapping[str, Probe]) -> list[Table]:
    """Every table of a run: its work's own, and those of its probes, each once."""
    tables = [*own]
    for probe in probes.values():
        tables += [table for table in probe.tables if table not in tables]
    return tables


def _build(key: str, options: Any) -> Probe:
    if isinstance(options, Probe):
        return options
    name = options.get("name", key) if isinstance(options, Mapping) else key
    probe = components.made("probe", str(name), options, f"probe.{key}")
    assert isinstance(probe, Probe)
    return probe
