"""Stored gradients give what plain autograd gives: kernels, changes, sums, and what follows."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent import stored_factors
from ntkexp.tangent.row_blocks import RowBlocks, triangle_bytes
from ntkexp.tangent.stored_factors import StoredFactors
from tests.tangent.dense_jacobian import jacobian


def convolutions() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2), nn.Flatten()),
        *(nn.Linear(12, 5), nn.ReLU(), nn.Linear(5, 1)),
    )


def one_position() -> nn.Module:
    """A convolution as large as its image."""
    return nn.Sequential(nn.Conv2d(2, 3, 4), nn.Flatten(), nn.Tanh(), nn.Linear(3, 1))


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(32, 6, bias=False), nn.Tanh(), nn.Linear(6, 1))


NETWORKS = {
    "convolutions": convolutions,
    "one position": one_position,
    "perceptron": perceptron,
}


@pytest.fixture(params=NETWORKS)
def case(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> tuple[StoredFactors, dict[str, Tensor]]:
    """Stored in several parts, and the dense Jacobian."""
    monkeypatch.setattr(stored_factors, "EXAMPLES_AT_ONCE", 4)
    torch.manual_seed(0)
    network = NETWORKS[request.param]().double()
    inputs = torch.randn(11, 2, 4, 4, dtype=torch.float64)
    return StoredFactors.of(network, inputs), jacobian(network, inputs)


def kernel_of(dense: dict[str, Tensor]) -> Tensor:
    whole = torch.cat([*dense.values()], 1)
    return whole @ whole.t()


def test_the_kernel_is_that_of_the_jacobian(
    case: tuple[StoredFactors, dict[str, Tensor]],
) -> None:
    stored, dense = case
    kernel = kernel_of(dense)
    torch.testing.assert_close(stored.gram(slice(0, 11), slice(0, 11)), kernel)
    torch.testing.assert_close(stored.gram(slice(3, 5), slice(2, 9)), kernel[3:5, 2:9])


def test_changes_and_sums_are_products_with_the_jacobian(
    case: tuple[StoredFactors, dict[str, Tensor]],
) -> None:
    stored, dense = case
    drawn = torch.Generator().manual_seed(1)
    slopes = torch.randn(3, 11, generator=drawn, dtype=torch.float64)
    pulled = stored.pull(slopes)
    assert pulled.keys() == dense.keys()
    for name, rows in dense.items():
        torch.testing.assert_close(pulled[name].flatten(1), slopes @ rows)
    # Phi Phi^T is the kernel.
    torch.testing.assert_close(stored.push(pulled), slopes @ kernel_of(dense))
    numbers = torch.tensor([4, 0, 9])
    part = stored.at(numbers)
    torch.testing.assert_close(part.push(pulled), (slopes @ kernel_of(dense))[:, numbers])


@pytest.mark.parametrize("name", NETWORKS)
def test_sums_have_the_shapes_of_the_weights(name: str) -> None:
    network = NETWORKS[name]()
    pulled = StoredFactors.of(network, torch.randn(5, 2, 4, 4)).pull(torch.ones(3, 5))
    for weight, part in network.named_parameters():
        assert pulled[weight].shape == (3, *part.shape)


def test_lemma_1_and_the_alignment_of_eigenfunctions(
    case: tuple[StoredFactors, dict[str, Tensor]],
) -> None:
    """T1 to T3 of the paper's inventory: alpha(f) is a squared gradient, lambda_j for phi_j and a
    sum of lambda_j <phi_j, f>^2, and bounds the norm of f from below."""
    stored, dense = case
    kernel, n = kernel_of(dense), 11
    f = torch.randn(1, n, generator=torch.Generator().manual_seed(2), dtype=torch.float64)

    def alpha(function: Tensor) -> float:
        return sum(float(part.square().sum()) for part in stored.pull(function / n).values())

    assert alpha(f) == pytest.approx(float(f @ kernel @ f.t()) / n**2, rel=1e-12)
    mu, vectors = torch.linalg.eigh(kernel)
    lambdas, phi = mu / n, n**0.5 * vectors.t()
    for value, function in zip(lambdas[-4:], phi[-4:], strict=True):
        assert alpha(function[None]) == pytest.approx(float(value), rel=1e-10)
    in_phi = (phi @ f[0] / n).square()
    assert alpha(f) == pytest.approx(float(lambdas @ in_phi), rel=1e-10)
    kept = lambdas > 1e-9 * lambdas[-1]
    norm = float((in_phi[kept] / lambdas[kept]).sum())
    assert norm * alpha(f) >= float(in_phi[kept].sum()) ** 2


def test_the_triangle_is_the_kernel(case: tuple[StoredFactors, dict[str, Tensor]]) -> None:
    stored, dense = case
    x = torch.randn(11, 3, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    for rows in (1, 4, 20):
        triangle = RowBlocks.triangle(stored, rows=rows)
        torch.testing.assert_close(triangle @ x, kernel_of(dense) @ x)
        assert sum(block.nbytes for _, block in triangle.blocks) == triangle_bytes(11, 8, rows)


def test_what_memory_does_not_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_factors, "available_bytes", lambda: 100)
    with pytest.raises(UserError, match=r"examples: needs .* GiB of memory for their gradients"):
        StoredFactors.of(perceptron(), torch.randn(5, 2, 4, 4))


def test_several_outputs_are_refused() -> None:
    with pytest.raises(UserError, match="one output, the network has 3"):
        StoredFactors.of(nn.Linear(2, 3), torch.randn(5, 2))
