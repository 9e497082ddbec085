"""The price of a run, told once it is known: about how long it takes, and how much disk."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pandas as pd

from ntkexp.results.table import parquet
from ntkexp.training.schedule import Looks

# After so long the first look is over, and the slow first steps, too.
KNOWN_AFTER_SECONDS = 3.0
# A shorter run is over before somebody has read it.
WORTH_A_LINE_SECONDS = 60.0


class Price:
    """Measures looks and steps from the first look on; `line` tells the rest, once."""

    def __init__(self) -> None:
        self.looks, self.steps, self.look_bytes = 0, 0, 0
        self.seconds = {"look": 0.0, "step": 0.0}
        self.told = False

    @contextmanager
    def of(self, activity: str) -> Iterator[None]:
        """Time what is done inside: a look, or steps."""
        began = time.monotonic()
        yield
        self.seconds[activity] += time.monotonic() - began

    def looked(self, rows: Mapping[str, pd.DataFrame]) -> None:
        """Count a look; `rows` are those of the first."""
        if not self.looks and not self.told:
            self.look_bytes = sum(len(parquet(name, frame)) for name, frame in rows.items())
        self.looks += 1

    def line(self, looks: Looks, step: int, last: int) -> str:
        """About how much is to come after `step`; nothing where it is not known, or little."""
        if self.told or not self.looks or sum(self.seconds.values()) < KNOWN_AFTER_SECONDS:
            return ""
        self.told = True
        steps = looks.steps if looks.every is None else range(0, last, looks.every)
        looks_left = sum(step < look < last for look in steps) + 1  # the last step has one
        seconds = looks_left * self.seconds["look"] / self.looks
        seconds += (last - step) * self.seconds["step"] / max(step, 1)
        if seconds < WORTH_A_LINE_SECONDS:
            return ""
        minutes = round(seconds / 60)
        left = f"{minutes} minutes" if minutes > 1 else "a minute"
        if seconds >= 5400:
            left = f"{seconds / 3600:.1f} hours"
        megabytes = (self.looks + looks_left) * self.look_bytes / 1e6
        return f"about {left} to go; tables of about {max(megabytes, 1):.0f} MB"
