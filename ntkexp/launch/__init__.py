"""Sweeps: many runs from one command, each in its own process."""

from __future__ import annotations
