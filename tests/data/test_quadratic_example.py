"""Examples 1 to 3 as data sets: those of the theory, filled up with zeros."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ntkexp import data, models
from ntkexp.data.quadratic_example import QuadraticExample
from ntkexp.errors import UserError
from ntkexp.models.bias_free_mlp import Activation, BiasFreeMlp, Weights
from ntkexp.theory.lazy import quadratic_model as theory
from tests.tiny_runs import composed

CPU = torch.device("cpu")
TRUTH = {
    1: theory.reversed_order([9, 8, 7, 6, 5]),
    2: theory.label_noise(20, 5, 5.0),
    3: theory.spurious(20, 5, 10.0, 1.0),
}


@pytest.mark.parametrize("example", TRUTH)
def test_they_are_those_of_the_theory(example: int) -> None:
    X, y = TRUTH[example]
    found = data.load(QuadraticExample(example=example), seed=0, device=CPU)
    assert found.input_shape == (200,)
    inputs = found.train.inputs.double().numpy()
    np.testing.assert_allclose(inputs @ inputs.T, X @ X.T, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(inputs[:, : X.shape[1]], X, rtol=1e-6)
    np.testing.assert_allclose(found.train.targets, y, rtol=1e-6)
    if example > 1:
        assert found.train.groups["minority"].sum() == 5
        assert torch.equal(found.train.groups["minority"], ~found.train.groups["majority"])


@pytest.mark.parametrize(
    "words", [["data.inputs=20", "data.example=2"], ["data.q=10", "data.example=3"], ["data.mu=[]"]]
)
def test_what_is_no_example_is_refused(words: list[str]) -> None:
    with pytest.raises(UserError, match=words[0].split("=")[0].replace(".", r"\.")):
        composed(["+exp=lazy/dense_examples", *words])


def test_a_linear_network_is_a_product_of_its_halved_weights() -> None:
    options = {"depth": 1, "width": 7, "weights": Weights.torch_default}
    whole = models.build(BiasFreeMlp(**options), (5,), 1, seed=3)  # type: ignore[arg-type]
    half = models.build(
        BiasFreeMlp(**options, gain=0.5, activation=Activation.linear),  # type: ignore[arg-type]
        (5,),
        1,
        seed=3,
    )
    W, v = half.parameters()
    for ours, theirs in zip((W, v), whole.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs / 2)
    x = torch.randn(4, 5)
    torch.testing.assert_close(half(x), x @ W.T @ v.T)
