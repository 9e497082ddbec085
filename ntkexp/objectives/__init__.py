"""Objectives, by name: a loss that is lowered, and which answers are right."""

from __future__ import annotations

from ntkexp.objectives.base import Objective

__all__ = ["Objective"]
