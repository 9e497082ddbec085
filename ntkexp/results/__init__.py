"""The store: tables in, tables out. Nothing else reads or writes files of results.

What needs pandas is imported on first use, so that `ntkexp list` answers at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ntkexp.results.folders import runs
    from ntkexp.results.kernel_blocks import kernel
    from ntkexp.results.reading import finished, load, read
    from ntkexp.results.record import Record
    from ntkexp.results.status import read_status
    from ntkexp.results.store import Run
    from ntkexp.results.table import Table

__all__ = ["Record", "Run", "Table", "finished", "kernel", "load", "read", "read_status", "runs"]

HOMES = {
    "Record": "record",
    "Run": "store",
    "Table": "table",
    "finished": "reading",
    "kernel": "kernel_blocks",
    "load": "reading",
    "read": "reading",
    "read_status": "status",
    "runs": "folders",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
