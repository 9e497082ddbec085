"""Loggers, by name: further places for the numbers of a run, one file a logger."""

from __future__ import annotations

from ntkexp.loggers.base import About, Logger, Series, Sink, Tables

__all__ = ["About", "Logger", "Series", "Sink", "Tables"]
