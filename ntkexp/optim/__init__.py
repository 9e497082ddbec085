"""What lowers the loss: optimisers by name, their options apart from their arithmetic."""

from __future__ import annotations

from ntkexp.optim.base import Optimiser, Schedule

__all__ = ["Optimiser", "Schedule"]
