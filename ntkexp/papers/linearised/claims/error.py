"""Section 4: how far a network ends from its linearisation carried along, by images and by epochs;
and how near the start the solutions of linearisations are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import pandas as pd

from ntkexp.claims.claim import above, below, sharing, times
from ntkexp.claims.statistics import Group, by
from ntkexp.papers.linearised.claims.numbers import by_model, rank_in_deviations
from ntkexp.papers.linearised.tasks import LINEAR, SIZE, WHOLE
from ntkexp.results.record import Record

ERROR = "linearised/error"
LINEARISATIONS = tuple(f"linearised/{net}{LINEAR}" for net in ("mlp", "lenet"))


def by_images(records: Sequence[Record]) -> Iterator[Group]:
    """(panel, seed, by images the row of the linearisation at the start)."""
    for seed, of_seed in tables(records).items():
        if len(of_seed) > 2:
            at_start = {images: table.loc[0] for images, table in of_seed.items()}
            yield "MLP", seed, pd.DataFrame(at_start).T.sort_index()


def by_epochs(records: Sequence[Record]) -> Iterator[Group]:
    """(panel, seed, by the step at which it is linearised a row), of the most images."""
    for seed, of_seed in tables(records).items():
        yield f"MLP, {max(of_seed):,} images", seed, of_seed[max(of_seed)]


def tables(records: Sequence[Record]) -> dict[int, dict[int, pd.DataFrame]]:
    """By seed and number of images."""
    found: dict[int, dict[int, pd.DataFrame]] = {}
    for run in records:
        table = run.tables["linearisation_error"].set_index("start")
        found.setdefault(run.seed, {})[int(run.config[SIZE] or WHOLE)] = table
    return found


def growth(rows: pd.DataFrame, column: str) -> dict[str, float]:
    """Of a column, from each place to the next, as a factor."""
    values = rows[column]
    return {f"{a:,} to {b:,}": float(values[b] / values[a]) for a, b in pairwise(values.index)}


claim = sharing("linearised-sec4-", figure="5", experiments=(ERROR,), seen="this was written",
                tables=("linearisation_error",))  # fmt: skip
CLAIMS = (
    claim(
        "error-grows",
        says="With fewer images the error of the linear approximation at the solution is smaller",
        paper="smaller",
        number="mean square of f_θT less f_θ0 + J_θ0 (θ_T - θ_0) over that of f_θT, test images: "
        "its factor from one number of images to the next",
        statistic=by(by_images)(growth, column="error"),
        holds=above(1.0),
        unit=times,
    ),
    claim(
        "error-falls",
        figure=None,
        says="Linearising at later stages of training makes the error smaller",
        paper="smaller; quoted from another work",
        number="the same from each look t at which the network is linearised to the next, by the "
        "most images that were run",
        statistic=by(by_epochs)(growth, column="error"),
        holds=below(1.0),
        unit=times,
    ),
    claim(
        "agreement",
        figure=None,
        says="After some epochs the predictions of a network and of its linearisation agree better",
        paper="better agreement after some epochs",
        number="share of test images with the same sign, the same",
        statistic=by(by_epochs)(growth, column="agreement"),
        holds=above(1.0),
        unit=times,
    ),
    claim(
        "closer",
        figure=None,
        says="Tasks of a high alignment are represented by weights closer to the linearisation's "
        "origin",
        paper="closer",
        number="Spearman's correlation of j and |theta_T - theta_0| of linearisations, times "
        "√(n - 1) for n tasks",
        experiments=LINEARISATIONS,
        tables=("evals", "distance"),
        statistic=by_model(rank_in_deviations, column="distance"),
        holds=above(1.0),
        threshold="the sign, by the deviation that the correlation has without any order",
    ),
)
