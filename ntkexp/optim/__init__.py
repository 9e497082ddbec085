"""Optimisers, by name: one file each."""

from __future__ import annotations

from ntkexp.optim.base import Optimiser, Precision, Schedule

__all__ = ["Optimiser", "Precision", "Schedule"]
