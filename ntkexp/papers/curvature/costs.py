"""The cost of each experiment: time of one core, on a busy machine of two."""

from __future__ import annotations

from collections.abc import Callable

from ntkexp.claims.effort import Cost
from ntkexp.claims.horizon import Horizon

COSTS: dict[str, str | Callable[[str, Horizon], Cost]] = {
    "curvature/rescaling": "a second",
}
