"""Looks at networks of two regimes, and one column of them at a level of another.

George's thesis, section 5.3, compares regimes at equal progress: where labels are wrong at equal
loss on the examples whose labels are right, with examples in tenths by C-score at equal mean
training loss, with a spurious attribute at equal accuracy with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

import numpy as np
import pandas as pd

from ntkexp.results.record import Record

KEYS = ("experiment", "alpha", "lr", "seed")
MEASURES = ("relus", "kernel", "representation")
TENTHS = tuple(f"decile{place}" for place in range(1, 11))
# Their lowest scores are the hardest examples.
LOWEST, HIGHEST = TENTHS[0], TENTHS[-1]
# Columns of a table of looks: the split and subset of the examples.
Columns = Mapping[str, tuple[str, str]]
WRONG_LABELS: Columns = {
    "clean": ("train", "intact"), "noisy": ("train", "noisy"), "test": ("test", "all")
}  # fmt: skip
BY_SCORE: Columns = {name: ("train", name) for name in ("all", *TENTHS)}
# A peak counts once the curve has come down from it by so much.
TURNED = 0.1
SMOOTH = 3


def looks(records: Iterable[Record], columns: Columns) -> pd.DataFrame:
    """A row a look at a network: `KEYS` and `step`; of every column a loss, and an accuracy called
    `..._known`; the measures of linearity where there are some."""
    runs = [_of_run(record, *columns.items()) for record in records]
    of_family = [run.assign(family=run["experiment"].map(family)) for run in runs]
    return longest(of_family, ["family", "alpha", "lr", "seed"]).drop(columns="family")


@cache  # a dozen claims read the same
def _of_run(record: Record, *columns: tuple[str, tuple[str, str]]) -> pd.DataFrame:
    at = [*KEYS, "step"]
    evals = keyed(record, record.tables["evals"])
    series: dict[str, pd.Series] = {}
    for name, (split, subset) in columns:
        rows = evals[(evals["split"] == split) & (evals["subset"] == subset)].set_index(at)
        series |= {name: rows["loss"], f"{name}_known": rows["accuracy"]}
    if "linearity" in record.tables:
        measured = keyed(record, record.tables["linearity"])
        measured = measured[measured["split"] == "train"].set_index(at)
        series |= {name: measured[name] for name in MEASURES}
    return pd.DataFrame(series).reset_index().sort_values(at)


def keyed(record: Record, table: pd.DataFrame) -> pd.DataFrame:
    """A table with `KEYS`: members of a run have theirs as columns, other runs in their config."""
    return table.assign(
        experiment=record.experiment,
        alpha=table.get("transform.alpha", record.config.get("transform.alpha")),
        lr=table.get("optim.lr", record.config.get("optim.lr")),
        seed=table.get("seed", record.seed),
    )


def longest(runs: Sequence[pd.DataFrame], network: Sequence[str]) -> pd.DataFrame:
    """The looks of all runs in one table; a network, told by these columns, that stands in several
    runs has those of the run that came furthest.

    >>> short = pd.DataFrame({"seed": 0, "step": [0, 1], "loss": [2.0, 1.0]})
    >>> long = pd.DataFrame({"seed": 0, "step": [0, 5], "loss": [2.0, 0.5]})
    >>> longest([long, short], ["seed"])["loss"].tolist()
    [2.0, 0.5]
    """
    if not runs:
        return pd.DataFrame(columns=[*{*network, *KEYS, "step"}], dtype=float)
    joined = pd.concat([run.assign(run=number) for number, run in enumerate(runs)])
    ends = joined.groupby([*network, "run"], as_index=False).agg({"step": "max"})
    kept = ends.sort_values("step").drop_duplicates([*network], keep="last").drop(columns="step")
    return joined.merge(kept).drop(columns="run")


def networks(looks: pd.DataFrame) -> Iterator[tuple[tuple[str, float, float, int], pd.DataFrame]]:
    """((experiment, alpha, rate, seed), its looks in order)."""
    for key, frame in looks.groupby([*KEYS], sort=True):
        experiment, alpha, lr, seed = map(str, key)
        yield (experiment, float(alpha), float(lr), int(seed)), frame.sort_values("step")


def pairs(
    looks: pd.DataFrame, first: Mapping[str, float], second: Mapping[str, float]
) -> Iterator[tuple[str, int, pd.DataFrame, pd.DataFrame]]:
    """(experiment, seed, looks of the one, of the other): networks of one seed that differ in these
    values of `alpha` and `lr`. Experiments that differ in their regime alone are one."""
    of_first, of_second = (
        {(family(name), seed): frame for (name, *_, seed), frame in networks(_where(looks, at))}
        for at in (first, second)
    )
    for name, seed in sorted(of_first.keys() & of_second.keys()):
        yield name, seed, of_first[name, seed], of_second[name, seed]


def _where(looks: pd.DataFrame, values: Mapping[str, float]) -> pd.DataFrame:
    for key, value in values.items():
        looks = looks[np.isclose(looks[key], value)]
    return looks


def family(experiment: str) -> str:
    """`lazy/noise_vgg11_lazy` is the other regime of `lazy/noise_vgg11`, and `lazy/rates_mlp` has
    the other rates of `lazy/noise_mlp`.

    >>> family("lazy/noise_vgg11_lazy"), family("lazy/rates_mlp")
    ('lazy/noise_vgg11', 'lazy/noise_mlp')
    """
    return experiment.removesuffix("_lazy").replace("rates_", "noise_")


def at_level(progress: np.ndarray, value: np.ndarray, level: float) -> float:
    """`value` where `progress` first comes to `level`, on the line from the look before; not a
    number where it never does, or is there from the start.

    >>> at_level(np.array([0.5, 0.7, 0.9]), np.array([0.2, 0.4, 0.6]), 0.8).__round__(6)
    0.5
    """
    reached = np.flatnonzero(progress >= level)
    if not len(reached) or reached[0] == 0:
        return float("nan")
    last = int(reached[0])
    part = (level - progress[last - 1]) / (progress[last] - progress[last - 1])
    return float(value[last - 1] + part * (value[last] - value[last - 1]))


def at_levels(looks: pd.DataFrame, column: str, by: str, levels: Iterable[float]) -> np.ndarray:
    """A column where another, an accuracy, first comes to each level."""
    progress, value = looks[by].to_numpy(), looks[column].to_numpy()
    return np.array([at_level(progress, value, level) for level in levels])


def at_losses(looks: pd.DataFrame, column: str, by: str, losses: Iterable[float]) -> np.ndarray:
    """A column where another, a loss, first falls to each level."""
    progress, value = -looks[by].to_numpy(), looks[column].to_numpy()
    return np.array([at_level(progress, value, -loss) for loss in losses])


def mean(values: np.ndarray) -> float:
    """Over the levels that were reached; no number without one."""
    reached = values[~np.isnan(values)]
    return float(reached.mean()) if len(reached) else float("nan")


def smoothed(frame: pd.DataFrame, column: str) -> np.ndarray:
    """A running median, so that the spike of one look decides nothing."""
    return frame[column].rolling(SMOOTH, center=True, min_periods=1).median().to_numpy()


def onset(frame: pd.DataFrame) -> float:
    """The clean loss where the noisy loss peaks and memorisation begins, by running medians; no
    number unless it has come down from there."""
    return _highest(smoothed(frame, "clean"), smoothed(frame, "noisy"))


def peak(frame: pd.DataFrame) -> float:
    """The same of the looks themselves."""
    return _highest(frame["clean"].to_numpy(), frame["noisy"].to_numpy())


def fallen(frame: pd.DataFrame, share: float) -> float:
    """The clean loss at the first look after its peak at which the noisy loss is below a share of
    that peak; a plateau does not move it."""
    clean, noisy = frame["clean"].to_numpy(), frame["noisy"].to_numpy()
    after = np.arange(len(noisy)) > noisy.argmax()
    below = np.flatnonzero(after & (noisy < share * noisy.max()))
    return float(clean[below[0]]) if len(below) else float("nan")


def _highest(clean: np.ndarray, noisy: np.ndarray) -> float:
    turned = noisy[-1] <= (1 - TURNED) * noisy.max()
    return float(clean[int(noisy.argmax())]) if turned else float("nan")
