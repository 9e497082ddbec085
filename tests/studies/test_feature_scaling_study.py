from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ntkexp.studies import feature_scaling
from ntkexp.studies.feature_scaling import FeatureScaling

SMALL = FeatureScaling(
    points=200, features=200, n=20, subsamples=20, scales=[0.0, 0.1, 0.5, 0.9, 0.99]
)


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return SMALL.run()


def test_white_features_know_nothing_beyond_the_training_points(
    tables: dict[str, pd.DataFrame],
) -> None:
    """Half of the other 180 points of 200 are wrong; |w|^2 = y^T y = n and Tr K = n."""
    white = tables["scaling"][tables["scaling"]["c"] == 0]
    np.testing.assert_allclose(white["test_error"], 0.45)
    np.testing.assert_allclose(white["l2_bound"], 1.0, rtol=1e-12)


def test_the_l2_bound_grows_loose_towards_c_one_and_the_error_does_not(
    tables: dict[str, pd.DataFrame],
) -> None:
    means = tables["scaling"].groupby("c").mean()
    assert means["l2_bound"][0.99] > 1.5 * means["l2_bound"][0.5]
    assert means["test_error"][0.99] < means["test_error"][0.5] + 0.01


def test_the_optimised_bound_is_below_the_l2_bound_and_does_not_depend_on_c(
    tables: dict[str, pd.DataFrame],
) -> None:
    scaling = tables["scaling"]
    assert (scaling["optimised_bound"] <= scaling["l2_bound"] * (1 + 1e-9)).all()
    means = scaling[scaling["c"] > 0].groupby("c")["optimised_bound"].mean()
    common = scaling["common_basis_bound"].mean()
    np.testing.assert_allclose(means, common, rtol=0.05)


def test_solutions_are_centred_over_subsamples(tables: dict[str, pd.DataFrame]) -> None:
    means = tables["solutions"].groupby("c")[["first", "second"]].mean()
    np.testing.assert_allclose(means, 0.0, atol=1e-12)


def test_solutions_and_errors_are_those_of_the_weights_themselves() -> None:
    """w = Phi_S^T K_S^{-1} y_S in the space of the features."""
    config = FeatureScaling(points=40, features=60, n=10, subsamples=3, scales=[0.7], plane=[0, 2])
    tables = config.run()
    psi, eigs = feature_scaling.singular_functions(config)
    features = psi * np.sqrt(1 + 0.7 * (eigs - 1))
    labels = np.where(psi[:, 1] >= 0, 1.0, -1.0)
    weights = np.stack(
        [np.linalg.pinv(features[S]) @ labels[S] for S in feature_scaling.subsamples(config)]
    )
    wrong = (weights @ features.T * labels < 0).mean(axis=1)
    centred = weights - weights.mean(axis=0)
    np.testing.assert_allclose(tables["scaling"]["test_error"], wrong, atol=1e-12)
    np.testing.assert_allclose(tables["solutions"]["first"], centred[:, 0], atol=1e-9)
    np.testing.assert_allclose(tables["solutions"]["second"], centred[:, 2], atol=1e-9)
