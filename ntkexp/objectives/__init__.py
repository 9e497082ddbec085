"""What a network is trained to lower, and what counts as a right answer: objectives by name."""

from __future__ import annotations

from ntkexp.objectives.base import Objective

__all__ = ["Objective"]
