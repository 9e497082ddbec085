"""A network in, a network out: what is trained in its place."""

from __future__ import annotations

from ntkexp.transforms.base import Transform

__all__ = ["Transform"]
