"""Tables as a run of networks would have left them, with one outcome or the opposite one."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pandas as pd

from tests.papers.made import rows

SEEDS = (0, 1)


def fourier(
    hit: Callable[[int], float], k: Iterable[int] = (5, 10, 15, 20), end: float = 1.0
) -> pd.DataFrame:
    """Magnitudes that reach the target of 1 at a step, a function of k, and end somewhere."""

    def magnitude(seed: int, step: int, k: int) -> float:
        return 0.1 if step < hit(k) else end if step == 1000 else 1.0

    return rows(
        {"seed": SEEDS, "step": range(0, 1001, 100), "k": k},
        magnitude=magnitude,
        residual=lambda seed, step, k: 0.0 if step >= hit(k) else 0.9,
        target=1.0,
    )


def norms(growth: float) -> pd.DataFrame:
    """Two layers whose norms grow by a factor over 20,000 steps."""
    axes = {"seed": SEEDS, "step": (0, 500, 20_000), "layer": ("hidden1", "output")}
    return rows(axes, norm=lambda seed, step, layer: growth ** (step / 20_000))


def pieces(early: float, start: float) -> pd.DataFrame:
    """The number of pieces and bounds on the largest slope: 1 at the end, and `early` until then.
    The largest slope is another at the start, and so are bounds."""
    values = [early] * 10 + [1.0]
    axes = {"seed": SEEDS, "step": range(0, 1001, 100)}
    bounds = [0.03, *values[1:]]
    return rows(axes, regions=values, product=bounds, max_norm=[x**7 for x in bounds],
                lipschitz=[start, *values[1:]])  # fmt: skip


def curve(ends_first: bool) -> pd.DataFrame:
    """Ten points of a line, of which the outer ones or the inner ones are fitted."""
    outer = {0, 1, 8, 9}
    return rows(
        {"seed": SEEDS[:1], "step": (6000,), "point": range(10)},
        output=lambda seed, step, point: 0.9 if (point in outer) is ends_first else 0.1,
        target=1.0,
    )
