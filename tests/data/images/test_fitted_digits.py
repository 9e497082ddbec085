"""Two digits and the best linear fit of their classes, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ntkexp import data
from ntkexp.data.fitted_digits import (
    FittedDigits,
    Pixels,
    RandomFeatures,
    TargetFit,
    Targets,
    by_sgd,
    fitted,
    normalised,
)
from ntkexp.data.images.sources import read
from ntkexp.errors import UserError
from tests.tiny_runs import composed

pytestmark = pytest.mark.usefixtures("made_images")

CPU = torch.device("cpu")
SMALL = {"train_examples": 50, "width": 8}


def loaded(**options: object) -> data.Dataset:
    return data.load(FittedDigits(**{**SMALL, **options}), 0, CPU, progress=False)  # type: ignore[arg-type]


def test_there_are_two_digits_and_numbers_for_targets() -> None:
    found = loaded()
    assert found.train.inputs.shape == (50, 1, 28, 28)
    assert found.train.targets.dtype == torch.float32
    assert found.classes is None
    assert len(found.test) == 12  # all of the made images of a 2 or a 3
    assert found.checksums


def test_images_are_centred_and_of_norm_one() -> None:
    flat = loaded().train.inputs.flatten(1)
    torch.testing.assert_close(flat.mean(1), torch.zeros(50), atol=1e-6, rtol=0)
    torch.testing.assert_close(flat.norm(dim=1), torch.ones(50))
    pixels = torch.arange(12.0).view(1, 1, 3, 4).square()
    other = normalised(pixels, Pixels.unit_variance)
    assert float(other.mean()) == pytest.approx(0, abs=1e-12)
    assert float(other.var(correction=0)) == pytest.approx(1)


def test_linear_targets_are_numpys_least_squares_in_the_features_on_both_splits() -> None:
    config = FittedDigits(train_examples=50, width=8)
    train, test = fitted(config, 0, read("mnist", "train"), read("mnist", "test"))
    first, second = (w.numpy() for w in RandomFeatures.draw(config, 0).weights)
    z = [
        np.maximum(np.maximum(one.inputs.flatten(1).numpy() @ first.T, 0) @ second.T, 0)
        for one in (train, test)
    ]
    b = np.linalg.lstsq(z[0], train.signs.numpy(), rcond=None)[0]
    np.testing.assert_allclose(train.linear.numpy(), z[0] @ b, atol=1e-10)
    np.testing.assert_allclose(test.linear.numpy(), z[1] @ b, atol=1e-10)
    right = np.mean((z[1] @ b > 0) == (test.signs.numpy() > 0))
    assert test.accuracy == pytest.approx(right)


def test_signs_follow_the_order_of_the_digits() -> None:
    forth, back = (
        fitted(
            FittedDigits(digits=digits, **SMALL), 0, read("mnist", "train"), read("mnist", "test")
        )  # type: ignore[arg-type]
        for digits in ([2, 3], [3, 2])
    )
    torch.testing.assert_close(forth[0].signs, -back[0].signs)
    torch.testing.assert_close(forth[0].inputs, back[0].inputs)


def test_the_sign_task_has_the_sign_of_the_same_fit() -> None:
    linear, sign = loaded(), loaded(targets=Targets.sign)
    torch.testing.assert_close(sign.train.targets, linear.train.targets.sign())
    torch.testing.assert_close(sign.train.clean_targets, linear.train.targets)
    torch.testing.assert_close(sign.train.inputs, linear.train.inputs)


def test_sgd_comes_near_the_least_squares_fit() -> None:
    rng = torch.Generator().manual_seed(0)
    z = torch.rand(60, 3, generator=rng, dtype=torch.float64)
    signs = torch.randn(60, generator=rng, dtype=torch.float64).sign()
    exact = torch.linalg.lstsq(z, signs[:, None]).solution[:, 0]
    torch.testing.assert_close(by_sgd(z, signs, 0), exact, atol=1e-3, rtol=0)
    one, other = loaded(), loaded(fit=TargetFit.sgd)
    assert not torch.equal(one.train.targets, other.train.targets)


def test_a_seed_has_points_and_features_of_its_own() -> None:
    one, same = loaded(), loaded()
    torch.testing.assert_close(one.train.targets, same.train.targets, rtol=0, atol=0)
    other = data.load(FittedDigits(train_examples=50, width=8), 1, CPU, progress=False)
    assert not torch.equal(one.train.inputs, other.train.inputs)


@pytest.mark.parametrize("digits", ["[2]", "[2,2]", "[1,2,3]"])
def test_other_than_two_digits_are_refused(digits: str) -> None:
    with pytest.raises(UserError, match=r"data\.digits.*a list of 2 different"):
        composed(["data=fitted_digits", "model=mlp", f"data.digits={digits}"])


def test_more_examples_than_there_are_are_refused_to_train_on_and_all_to_test_on() -> None:
    with pytest.raises(UserError, match=r"data\.train_examples=61: there are 60 images of 2 and 3"):
        loaded(train_examples=61)
    assert len(loaded(test_examples=13).test) == 12
    assert len(loaded(test_examples=11).test) == 11
