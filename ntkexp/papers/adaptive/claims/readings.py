"""The claims of Figures 1 and 3 under other readings of the paper.

Cells are how the weights are drawn, the batch and whose label kernel. A pair of networks of which
one has not fitted its targets (a mean squared error above 1e-3) is undecided and no case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pandas as pd

from ntkexp.claims.claim import Case, Claim, Statistic, above
from ntkexp.claims.horizon import OWN_END
from ntkexp.papers.adaptive.cases import cosine, differences, fifths, fitted_seeds
from ntkexp.results.record import Record

LABELS = ("residual", "output", "targets")


def cell(record: Record) -> str:
    """The reading of a run in words."""
    size = record.config.get("optim.batch_size")
    batch = "full batch" if size in (None, "None") else f"batch {size}"
    return f"{record.config['model.weights']}, {batch}"


def of_cells(table: str, values: dict[str, Callable[[pd.DataFrame], float]]) -> Statistic:
    """Sign task less linear task, for every fitted pair of every run; one panel a cell."""

    def cases(records: Sequence[Record]) -> Iterable[Case]:
        for record in records:
            fitted = fitted_seeds(record)
            for name, value in values.items():
                panel = f"{cell(record)}, {name}" if name else cell(record)
                for case in differences(table, value, panel)(record):
                    if case.seed in fitted:
                        yield case

    return cases


def claims(experiment: str, slug: str, where: str) -> Iterable[Claim]:
    yield Claim(
        id=f"adaptive-{slug}-sign-higher",
        figure="1",
        says=f"The sign task has the higher label kernel alignment, {where}",
        paper="higher",
        number="cosine of adapted and label kernel, sign less linear task",
        experiments=(experiment,),
        tables=("adapted_cosines", "evals"),
        statistic=of_cells(
            "adapted_cosines", {label: cosine("average", label) for label in LABELS}
        ),
        holds=above(0.0),
        threshold="the sign of the text's word",
        horizon=OWN_END,
    )
    yield Claim(
        id=f"adaptive-{slug}-near-zero",
        figure="3",
        says=f"The kernel is larger near y = 0 on the sign task, {where}",
        paper="larger",
        number="mean K_ii of the fifth nearest to y = 0 over the farthest, sign less linear task",
        experiments=(experiment,),
        tables=("adapted_fifths", "evals"),
        statistic=of_cells("adapted_fifths", {"": fifths("diagonal")}),
        holds=above(0.0),
        threshold="ours: more so than on the linear task",
        horizon=OWN_END,
    )


CLAIMS = (
    *claims("adaptive/robustness", "robust", "under other initialisations"),
    *claims("adaptive/full_batch", "full-batch", "trained on the full batch"),
    *claims(
        "adaptive/ntk_unit_variance",
        "ntk-variance",
        "in the NTK parametrisation on images of unit variance, at ten times the rate",
    ),
)
