"""The store: tables in, tables out. Nothing else reads or writes files of results."""

from ntkexp.results.load import finished, load, runs
from ntkexp.results.store import SCHEMA_VERSION, Run, read_status
from ntkexp.results.table import Table

__all__ = ["SCHEMA_VERSION", "Run", "Table", "finished", "load", "read_status", "runs"]
