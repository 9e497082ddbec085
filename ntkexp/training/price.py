"""The price of a run, told once it is known: about how long it takes, and how much disk."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from ntkexp.results.table import parquet
from ntkexp.training.schedule import Looks

# After so long the first look is over, and the slow first steps, too.
KNOWN_AFTER_SECONDS = 3.0
# A shorter run is over before somebody has read it.
WORTH_A_LINE_SECONDS = 60.0


def to_come(
    looks: Looks,
    step: int,
    last: int,
    looked: int,
    seconds: Mapping[str, float],
    rows: Mapping[str, pd.DataFrame],
) -> str:
    """About how much is to come after `step`; nothing where that is little.

    So far there were `looked` looks, of which `rows` are those of the first, and all looks and all
    steps took `seconds`.
    """
    steps = looks.steps if looks.every is None else range(0, last, looks.every)
    looks_left = sum(step < look < last for look in steps) + 1  # the last step has one
    left = looks_left * seconds["look"] / looked + (last - step) * seconds["step"] / max(step, 1)
    if left < WORTH_A_LINE_SECONDS:
        return ""
    minutes = round(left / 60)
    about = f"{minutes} minutes" if minutes > 1 else "a minute"
    if left >= 5400:
        about = f"{left / 3600:.1f} hours"
    look_bytes = sum(len(parquet(name, frame)) for name, frame in rows.items())
    megabytes = (looked + looks_left) * look_bytes / 1e6
    return f"about {about} to go; tables of about {max(megabytes, 1):.0f} MB"
