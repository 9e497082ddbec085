"""What is measured along training: one file a probe."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any

from ntkexp.config import checked
from ntkexp.errors import UserError
from ntkexp.probes.base import Forward, Probe, Update
from ntkexp.probes.view import Batch, NetworkView, View
from ntkexp.results.table import Rows

__all__ = [
    "Batch",
    "Forward",
    "NetworkView",
    "Probe",
    "Rows",
    "Update",
    "View",
    "build",
    "names",
]


NO_PROBES = ("base", "view")


def names() -> list[str]:
    """Every probe there is."""
    return sorted(
        module.name for module in pkgutil.iter_modules(__path__) if module.name not in NO_PROBES
    )


def build(selected: Mapping[str, Any]) -> dict[str, Probe]:
    """The probes of a config node `probe: {name: options}`, their options checked for type."""
    return {str(name): _build(str(name), options) for name, options in selected.items()}


def _build(name: str, options: Any) -> Probe:
    if name not in names():
        raise UserError(f"probe.{name}: no such probe; there are {', '.join(names())}")
    module = importlib.import_module(f"{__name__}.{name}")
    kind = getattr(module, "".join(part.capitalize() for part in name.split("_")))
    probe = checked(kind, options, f"probe.{name}")
    assert isinstance(probe, Probe)
    return probe
