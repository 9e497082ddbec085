"""Transforms, by name: functions that are trained in place of a network."""

from __future__ import annotations

from ntkexp.transforms.base import Transform

__all__ = ["Transform"]
