from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ntkexp.studies.linear_modes import LinearModes


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return LinearModes(n=8, features=12, iterations=400).run()


def test_the_run_follows_propositions_7_and_9_to_rounding(
    tables: dict[str, pd.DataFrame],
) -> None:
    curves = tables["linear_modes"]
    assert (curves["measured"] - curves["predicted"]).abs().max() < 1e-12
    assert tables["linear_function"]["difference"].max() < 1e-12


def test_measured_time_constants_are_the_corrected_ones(tables: dict[str, pd.DataFrame]) -> None:
    constants = tables["time_constants"]
    np.testing.assert_allclose(constants["measured"], constants["predicted"], rtol=1e-6)
    assert constants["predicted"].is_monotonic_increasing
    lower = constants[constants["mode"] > 0]
    np.testing.assert_allclose(lower["printed"], 1 / lower["predicted"], rtol=1e-12)
