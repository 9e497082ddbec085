from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ntkexp.studies.supernat import NoiseProjector, Supernat
from ntkexp.theory.propositions import IDENTITIES
from ntkexp.theory.supernat import Kappa, Loss, explicit_start, explicit_step


def last(frame: pd.DataFrame, **chosen: object) -> float:
    """The mean over seeds of the error after the last step."""
    for key, value in chosen.items():
        frame = frame[frame[key] == value]
    return float(frame[frame["step"] == frame["step"].max()]["error"].mean())


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return Supernat(iterations=300, recorded=30).run()


def test_gradient_descent_fits_the_noise_in_the_end_and_supernat_does_not(
    tables: dict[str, pd.DataFrame],
) -> None:
    errors = tables["test_error"]
    gradient_descent = errors[errors["algorithm"] == "gradient_descent"]
    best = gradient_descent.groupby("step")["error"].mean().min()
    assert last(errors, algorithm="gradient_descent") > 8 * best
    assert last(errors, algorithm="supernat") < last(errors, algorithm="gradient_descent") / 5


def test_kappa_decides_the_outcome(tables: dict[str, pd.DataFrame]) -> None:
    errors = tables["kappa_error"]
    frozen = last(errors, kappa="grad_norm")
    slower = last(errors, kappa="grad_max")
    overfitted = last(errors, kappa="const")
    assert frozen < slower < overfitted
    assert overfitted == pytest.approx(
        last(tables["test_error"], algorithm="gradient_descent"), rel=0.01
    )
    assert last(errors, kappa="none", loss="half_sum") == np.inf


def test_to_the_letter_with_the_mean_squared_loss_it_freezes(
    tables: dict[str, pd.DataFrame],
) -> None:
    errors = tables["kappa_error"].query("kappa == 'none' and loss == 'mean'")
    means = errors.groupby("step")["error"].mean()
    assert means.iloc[-1] == pytest.approx(means[means.index >= 100].iloc[0], rel=1e-3)
    assert means.iloc[-1] < last(tables["test_error"], algorithm="gradient_descent")


def test_the_loss_changes_no_other_kappa(tables: dict[str, pd.DataFrame]) -> None:
    errors = tables["kappa_error"].query("kappa != 'none'")
    one, other = (errors[errors["loss"] == loss]["error"].to_numpy() for loss in Loss)
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_the_propositions_hold_to_rounding(tables: dict[str, pd.DataFrame]) -> None:
    errors = tables["propositions"].groupby("statement")["error"].max()
    assert set(errors.index) == set(IDENTITIES)
    assert errors.max() < 1e-9


def test_the_kernel_turns_to_the_signal_first_and_to_the_noise_when_the_signal_is_learned(
    tables: dict[str, pd.DataFrame],
) -> None:
    alignment = tables["kernel_alignment"]
    ratio = alignment[alignment["algorithm"] == "supernat"].groupby("step")["ratio"].median()
    assert ratio[2] > 1.5 * ratio[0]
    assert ratio[50] < ratio[0] / 10


def test_the_kernel_of_gradient_descent_never_changes(tables: dict[str, pd.DataFrame]) -> None:
    eigenvalues = tables["kernel_eigenvalues"]
    fixed = eigenvalues[eigenvalues["algorithm"] == "gradient_descent"]
    assert (fixed.groupby(["seed", "mode"])["eigenvalue"].nunique() == 1).all()


@pytest.mark.parametrize("projector", list(NoiseProjector))
def test_the_errors_are_those_of_the_algorithm_in_matrices(projector: NoiseProjector) -> None:
    config = Supernat(seeds=1, n=20, d=3, iterations=6, noise_projector=projector)
    tables = config.run()
    errors, alignment = tables["test_error"], tables["kernel_alignment"]
    measured = errors[errors["algorithm"] == "supernat"]["error"].to_numpy()
    left = alignment[alignment["algorithm"] == "supernat"]["noise_left"].to_numpy()

    # The same draws, in the study's order.
    generator = np.random.default_rng(0)
    signal = generator.normal(size=20)
    noise_features = generator.normal(size=(20, 3)) / np.sqrt(3)
    noise = np.sqrt(config.sigma2) * generator.normal(size=20)
    features = np.column_stack([signal, noise_features])
    if projector is NoiseProjector.orthogonal:
        projected = noise_features @ np.linalg.lstsq(noise_features, noise, rcond=None)[0]
    else:
        projected = noise_features @ noise_features.T @ noise
    eta = config.lr / np.linalg.norm(features, ord=2) ** 2

    state = explicit_start(features)
    directions = np.linalg.svd(features, full_matrices=False)[0][:, 1:]
    unfitted = np.sum((directions.T @ (signal + projected)) ** 2)
    for error, share in zip(measured, left, strict=True):
        w = np.linalg.solve(state.rescaling.T, state.weights)
        assert error == pytest.approx((w[0] - 1) ** 2 + np.mean(w[1:] ** 2), rel=1e-9)
        residual = signal + projected - features @ w
        assert share == pytest.approx(np.sum((directions.T @ residual) ** 2) / unfitted, rel=1e-9)
        state = explicit_step(state, signal + projected, eta, Kappa.grad_norm)


def test_a_regression_that_is_learnt_to_the_last_digit_has_not_diverged() -> None:
    config = Supernat(
        seeds=3, n=20, d=2, lr=1.0, iterations=1000, compared_kappas=[Kappa.const]
    )  # its largest mode is learnt in one step, the others in a few
    tables = config.run()
    descended = last(tables["test_error"], algorithm="gradient_descent")
    for loss in Loss:
        assert last(tables["kappa_error"], loss=loss) == pytest.approx(descended)


def test_without_label_noise_gradient_descent_finds_the_signal() -> None:
    config = Supernat(seeds=3, sigma2=0.0, iterations=1000, compared_kappas=[])
    tables = config.run()
    assert last(tables["test_error"], algorithm="gradient_descent") < 1e-6
    assert (tables["kernel_alignment"]["noise"] == 0).all()
    assert tables["kappa_error"].empty


def test_a_seed_gives_the_same_whatever_the_number_of_seeds() -> None:
    several = Supernat(seed=3, seeds=4, iterations=5).run()["test_error"]
    alone = Supernat(seed=4, seeds=1, iterations=5).run()["test_error"]
    np.testing.assert_allclose(several[several["seed"] == 4]["error"], alone["error"], rtol=1e-12)
