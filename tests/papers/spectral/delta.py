"""Tables of the experiments on a delta function."""

from __future__ import annotations

import pandas as pd

from ntkexp.results.record import Record
from tests.papers.made import record, rows
from tests.papers.spectral.made import SEEDS

AXES = {
    "delta_depth": ("model.depth", (3, 6)),
    "delta_width": ("model.width", (32, 128)),
    "delta_clip": ("optim.clip", (0.1, 2)),
    "delta_bounds": ("optim.clip", (0.1, 0.15)),
}
# What is fitted in the end, at the smallest and at the largest value.
# How soon they get near, of all members of a run.
SPEEDS = {
    True: {"delta_depth": (1, 4), "delta_width": (1, 1.25), "delta_clip": (1, 1)},
    False: {"delta_depth": (1, 0.5), "delta_width": (1, 0.5), "delta_clip": (1, 1)},
}
SHARES = {
    True: {"delta_depth": (0.3, 0.6), "delta_width": (0.3, 0.4), "delta_clip": (0.0, 0.4)},
    False: {"delta_depth": (0.3, 0.2), "delta_width": (0.3, 0.2), "delta_clip": (0.4, 0.4)},
}


def records(experiment: str, holds: bool) -> list[Record]:
    """The smallest and the largest of a sweep."""
    name = experiment.removeprefix("spectral/")
    key, values = AXES[name]
    if name == "delta_bounds":
        return [record(experiment, bounded(holds), **{key: value}) for value in values]
    outcomes = zip(values, SHARES[holds][name], SPEEDS[holds][name], strict=True)
    return [
        record(
            experiment,
            {"fourier": fourier(share, speed, low_first=holds)},
            **{key: value},
        )
        for value, share, speed in outcomes
    ]


def bounded(holds: bool) -> dict[str, pd.DataFrame]:
    """Magnitudes that grow as the largest slope, or as its fourth power."""
    axes = {"seed": SEEDS, "step": (0, 1, 2, 4, 8)}
    slopes = rows(axes, lipschitz=lambda seed, step: step if holds else step**0.25)
    spectrum = rows({**axes, "k": (60, 80)}, magnitude=lambda seed, step, k: step / 100, target=1.0)
    return {"fourier": spectrum, "linear_pieces": slopes}


def fourier(share: float, speed: float, *, low_first: bool) -> pd.DataFrame:
    """Frequencies get near one after the other, and leave again; in the end a share of all is
    fitted."""

    def residual(seed: int, step: int, k: int) -> float:
        if step == 100:
            return 1 - share
        near = speed * step
        return 0.4 if (k <= near if low_first else k >= 100 - near) else 1.0

    axes = {"seed": SEEDS, "step": range(0, 101, 10), "k": range(5, 91, 5)}
    return rows(axes, residual=residual, target=1.0, magnitude=1.0)
