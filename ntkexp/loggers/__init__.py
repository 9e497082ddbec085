"""Where the numbers of a run go besides its tables: one file a logger."""

from __future__ import annotations

from ntkexp.loggers.base import About, Batch, Logger, Series, Sink

__all__ = ["About", "Batch", "Logger", "Series", "Sink"]
