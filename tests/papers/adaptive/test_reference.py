"""What the ledger reads off the kept networks of Figure 1, beside what was kept of the fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from ntkexp.papers.adaptive.claims.figures import cosine_of_fit
from ntkexp.results.reading import collect
from ntkexp.results.record import Record

TOP = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def records() -> list[Record]:
    kept = TOP / "outputs" / "reference" / "adaptive"
    return collect([kept / "label_kernel", kept / "label_kernel_sgd"])


def test_the_cosine_of_the_best_combination_is_that_of_the_fit_that_was_kept(
    records: list[Record],
) -> None:
    """From its coefficients and the norms of the kernels."""
    record = next(one for one in records if one.experiment == "adaptive/label_kernel")
    found = {
        seed: cosine_of_fit(rows)
        for (task, seed), rows in record.tables["adapted_cosines"].groupby(["data.targets", "seed"])
        if task == "linear"
    }
    for seed, value in found.items():
        own = {
            name: table[(table["seed"] == seed) & (table["data.targets"] == "linear")]
            for name, table in record.tables.items()
            if "data.targets" in table
        }
        pair = own["adapted_cosines"].set_index(["first", "second"])
        fits = own["adapted_fits"]
        fit = fits[(fits["label"] == "residual") & (fits["parts"] == 2)].iloc[0]
        # In units of the initial kernel's norm.
        a, b = fit["a"], fit["b"] / pair.at[("initial", "residual"), "ratio"]
        between = pair.at[("initial", "residual"), "cosine"]
        square = a**2 + b**2 + 2 * a * b * between
        # A least-squares fit is as long as the part of K along it.
        assert value == pytest.approx(
            square**0.5 * pair.at[("initial", "average"), "ratio"], rel=1e-4
        )
