"""Products with a kernel that is never formed are those of the naive Jacobian."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent import TangentFeatures, leading_eigenpairs, operator, ridge_regression
from tests.tangent.dense_jacobian import distance, jacobian

LABELS = torch.arange(11) % 3


def perceptron() -> nn.Module:
    torch.manual_seed(0)
    layers = nn.Linear(8, 6), nn.Tanh(), nn.Linear(6, 5, bias=False), nn.ReLU(), nn.Linear(5, 3)
    return nn.Sequential(nn.Flatten(), *layers).double()


def convolutional() -> nn.Module:
    torch.manual_seed(0)
    layers = nn.Conv2d(2, 4, 2), nn.ReLU(), nn.Flatten(), nn.Linear(4, 3)
    return nn.Sequential(*layers).double()


def inputs() -> Tensor:
    return torch.randn(11, 2, 2, 2, generator=torch.Generator().manual_seed(1)).double()


def own(f: Tensor, indices: Tensor) -> Tensor:
    return f.gather(1, LABELS[indices, None])


def truth(model: nn.Module, rows: Tensor, only: str = "") -> Tensor:
    """The naive kernel of some rows (i c + y) of the Jacobian."""
    parts = [part[rows] for name, part in jacobian(model, inputs()).items() if only in name]
    return sum((part @ part.t() for part in parts), torch.zeros(()))


@pytest.mark.parametrize("make", [perceptron, convolutional])
@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("at_once", [4, 500])
def test_products_are_those_of_the_naive_kernel(
    make: Callable[[], nn.Module], stored: bool, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operator, "EXAMPLES_AT_ONCE", at_once)
    model, identity = make(), torch.eye(11).double()
    every_third = torch.arange(11) * 3
    for outputs, rows in (([1], every_third + 1), (own, every_third + LABELS)):
        kernel = TangentFeatures(model, outputs=outputs).operator(inputs(), stored=stored)
        assert (kernel.stored is not None) == stored and kernel.shape == (11, 11)
        assert distance(kernel @ identity, truth(model, rows)) < 1e-12
    last = TangentFeatures(model, outputs=[1], parameters=[str(len(model) - 1)])  # type: ignore[arg-type]
    found = last.operator(inputs(), stored=stored) @ identity
    assert distance(found, truth(model, every_third + 1, f"{len(model) - 1}.")) < 1e-12  # type: ignore[arg-type]


def test_what_memory_does_not_hold_is_computed_in_every_product(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    features = TangentFeatures(perceptron(), outputs=[0])
    monkeypatch.setattr(operator, "free_bytes", lambda device: 1000)
    kernel = features.operator(inputs())
    assert kernel.stored is None
    assert distance(kernel @ torch.eye(11).double(), truth(features.model, torch.arange(11) * 3)) \
        < 1e-12  # fmt: skip


def test_inputs_are_read_from_a_map_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "x.npy", inputs().numpy())
    mapped = torch.from_numpy(np.load(tmp_path / "x.npy", mmap_mode="c"))
    monkeypatch.setattr(operator, "EXAMPLES_AT_ONCE", 4)
    features, seen = TangentFeatures(perceptron(), outputs=[0]), list[int]()
    hook: Any = lambda module, given: seen.append(len(given[0]))  # noqa: E731
    features.model.register_forward_pre_hook(hook)
    product = features.operator(mapped, stored=False) @ torch.eye(11).double()
    assert max(seen) <= 8 and distance(product, truth(features.model, torch.arange(11) * 3)) < 1e-12


def test_several_outputs_are_refused() -> None:
    with pytest.raises(UserError, match="factors are kept of one output, the network has 3"):
        TangentFeatures(perceptron()).operator(inputs())


def test_it_has_eigenpairs_and_ridge_regression() -> None:
    model = perceptron()
    kernel = TangentFeatures(model, outputs=[0]).operator(inputs())
    dense = truth(model, torch.arange(11) * 3)
    pairs = leading_eigenpairs(kernel, 3)
    torch.testing.assert_close(pairs.values, torch.linalg.eigvalsh(dense).flip(0)[:3])
    y = torch.linspace(-1, 1, 11).double()
    expected = torch.linalg.solve(dense + 0.5 * torch.eye(11).double(), y)
    torch.testing.assert_close(ridge_regression(kernel, y, 0.5), expected, rtol=1e-4, atol=1e-6)


def test_a_regression_that_does_not_come_to_its_end_is_refused() -> None:
    stiff = torch.diag(torch.logspace(-8, 4, 40, dtype=torch.float64))
    y = torch.ones(40, 2, dtype=torch.float64)
    line = r"after 5 steps a residual is .*; expected a larger penalty than 1e-06, or more steps"
    with pytest.raises(UserError, match=line):
        ridge_regression(stiff, y, 1e-6, steps=5)
    with pytest.raises(UserError, match=r"penalty=0: expected a number above 0"):
        ridge_regression(stiff, y, 0)
    zero = torch.stack([torch.zeros(40), torch.ones(40)], 1).double()
    expected = torch.linalg.solve(stiff + torch.eye(40).double(), zero)
    torch.testing.assert_close(ridge_regression(stiff, zero, 1.0), expected, rtol=1e-4, atol=1e-6)
