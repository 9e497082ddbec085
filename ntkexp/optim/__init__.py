"""Optimisers, by name: one file each."""

from __future__ import annotations

from ntkexp.optim.base import Optimiser, Schedule

__all__ = ["Optimiser", "Schedule"]
