"""Tables as a run of networks would have left them, with one outcome or the opposite one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product

import pandas as pd

SEEDS = (0, 1)
Value = Callable[..., float]


def rows(axes: Mapping[str, Iterable[object]], **values: Value) -> pd.DataFrame:
    """A row for every combination of the axes, with values that are functions of it."""
    combinations = [dict(zip(axes, chosen, strict=True)) for chosen in product(*axes.values())]
    return pd.DataFrame(
        [{**one, **{name: of(**one) for name, of in values.items()}} for one in combinations]
    )


def fourier(hit: Callable[[int], float], k: Iterable[int] = (5, 10, 15, 20)) -> pd.DataFrame:
    """Magnitudes that reach the target of 1 at a step, a function of k."""
    axes = {"seed": SEEDS, "step": range(0, 1001, 100), "k": k}
    return rows(
        axes,
        magnitude=lambda seed, step, k: 1.0 if step >= hit(k) else 0.1,
        residual=lambda seed, step, k: 0.0 if step >= hit(k) else 0.9,
        target=lambda seed, step, k: 1.0,
    )


def norms(growth: float) -> pd.DataFrame:
    """Two layers whose norms grow by a factor over 20,000 steps."""
    axes = {"seed": SEEDS, "step": (0, 500, 20_000), "layer": ("hidden1", "output")}
    return rows(axes, norm=lambda seed, step, layer: growth ** (step / 20_000))


def pieces(early: float) -> pd.DataFrame:
    """The number of pieces and the largest slope: 1 at the end, and `early` until then."""
    value = lambda seed, step: 1.0 if step == 1000 else early  # noqa: E731
    return rows({"seed": SEEDS, "step": range(0, 1001, 100)}, regions=value, lipschitz=value)
