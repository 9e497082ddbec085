"""Sweeps: many runs from one command, each in its own process or as members of one ensemble."""

from __future__ import annotations
