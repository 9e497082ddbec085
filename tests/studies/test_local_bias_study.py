from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ntkexp.studies.local_bias import LocalBias


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    config = LocalBias(seeds=2, n=20, width=32, iterations=[0, 50], etas=[1e-6, 1e-5, 1e-4, 1e-3])
    return config.run()


def test_lemma_1_errs_by_the_square_of_the_learning_rate(
    tables: dict[str, pd.DataFrame],
) -> None:
    slopes = tables["local_bias_slope"]
    small = slopes[slopes["eta_to"] <= 1e-4].groupby(["seed", "iteration"])["slope"].median()
    np.testing.assert_allclose(small, 2.0, atol=0.05)


def test_every_mode_moves_as_predicted_by_a_small_step(tables: dict[str, pd.DataFrame]) -> None:
    modes = tables["local_bias"]
    small = modes[modes["eta"] == 1e-5]
    scale = small.groupby(["seed", "iteration"])["predicted"].transform(lambda x: x.abs().max())
    assert ((small["measured"] - small["predicted"]).abs() < 1e-3 * scale).all()


def test_a_trial_step_leaves_the_training_as_it_was() -> None:
    def eigenvalues(iterations: list[int]) -> np.ndarray:
        config = LocalBias(seeds=1, n=10, width=8, iterations=iterations, etas=[1e-3, 1e-2])
        frame = config.run()["local_bias"]
        return frame[frame["iteration"] == 20]["eigenvalue"].to_numpy()

    np.testing.assert_array_equal(eigenvalues([20]), eigenvalues([0, 5, 20]))
