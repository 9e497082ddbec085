"""The cost of each experiment: time of one core, estimated from measured updates."""

from __future__ import annotations

from collections.abc import Callable

from ntkexp.claims.effort import Cost
from ntkexp.claims.horizon import Horizon

COSTS: dict[str, str | Callable[[str, Horizon], Cost]] = {
    "information/gaussians": "15 minutes for forty-two networks",
    "information/gaussians_20": "55 minutes for sixty networks",
    "information/gaussians_20_endless": "30 minutes for thirty-six networks",
    "information/correction": "25 minutes for sixty networks",
    "information/equitability": "20 minutes for forty-five networks",
    "information/consistency": "6 minutes for twelve networks",
    "information/consistency_20": "12 minutes for twelve networks",
    "information/bijections": "10 minutes for twenty-four networks",
    "information/bijections_5": "10 minutes for twenty-four networks",
    "information/circle": "35 minutes for thirty networks",
    "information/circle_linearised": "10 minutes for three networks",
    "information/toys": "20 minutes for twenty generators",
    "information/toys_long": "70 minutes for twelve generators",
    "information/toys_unclipped": "8 minutes for six generators",
    "information/bottleneck": "4 hours for fifteen networks",
    "information/bottleneck_others": "an hour for five networks",
    "information/bottleneck_free": "16 minutes",
    "information/digits": "4 minutes",
    "information/stacked": "3 hours for four generators",
    "information/inference": "15 minutes for twelve models",
    "information/digit_inference": "40 minutes for four models",
    "information/limits": "15 minutes",
}
