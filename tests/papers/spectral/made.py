"""Tables as a run of networks would have left them, with one outcome or the opposite one."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pandas as pd

from tests.papers.made import rows

SEEDS = (0, 1)


def fourier(hit: Callable[[int], float], k: Iterable[int] = (5, 10, 15, 20)) -> pd.DataFrame:
    """Magnitudes that reach the target of 1 at a step, a function of k."""
    return rows(
        {"seed": SEEDS, "step": range(0, 1001, 100), "k": k},
        magnitude=lambda seed, step, k: 1.0 if step >= hit(k) else 0.1,
        residual=lambda seed, step, k: 0.0 if step >= hit(k) else 0.9,
        target=1.0,
    )


def norms(growth: float) -> pd.DataFrame:
    """Two layers whose norms grow by a factor over 20,000 steps."""
    axes = {"seed": SEEDS, "step": (0, 500, 20_000), "layer": ("hidden1", "output")}
    return rows(axes, norm=lambda seed, step, layer: growth ** (step / 20_000))


def pieces(early: float) -> pd.DataFrame:
    """The number of pieces and the largest slope: 1 at the end, and `early` until then."""
    values = [early] * 10 + [1.0]
    return rows({"seed": SEEDS, "step": range(0, 1001, 100)}, regions=values, lipschitz=values)
