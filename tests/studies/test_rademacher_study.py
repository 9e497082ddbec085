from __future__ import annotations

import pandas as pd
import pytest

from ntkexp.studies.rademacher import Rademacher


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    config = Rademacher(seeds=3, sizes=[2, 5, 8], multiclass_sizes=[3, 5], sampled_weights=500)
    return config.run()


def test_no_instance_exceeds_its_bound(tables: dict[str, pd.DataFrame]) -> None:
    for name in ("rademacher_linear", "rademacher_flow"):
        assert (tables[name]["exact"] <= tables[name]["bound"]).all()
    multiclass = tables["rademacher_multiclass"]
    assert (multiclass["sampled"] <= multiclass["lemma_12"]).all()
    assert (multiclass["lemma_12"] <= multiclass["theorem_13"]).all()


def test_random_signs_estimate_what_all_signs_give(tables: dict[str, pd.DataFrame]) -> None:
    linear = tables["rademacher_linear"]
    distance = (linear["monte_carlo"] - linear["exact"]).abs()
    assert (distance < 4.5 * linear["standard_error"]).all()


def test_the_bound_of_a_ball_is_nearly_tight(tables: dict[str, pd.DataFrame]) -> None:
    """Jensen's inequality loses little: E sqrt(x) against sqrt(E x) for a concentrated x."""
    linear = tables["rademacher_linear"]
    assert (linear["exact"] / linear["bound"]).min() > 0.7
