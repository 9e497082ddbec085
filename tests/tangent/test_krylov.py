"""Block Krylov iteration finds the leading eigenpairs, measured by other methods."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse.linalg import eigsh

from ntkexp import models
from ntkexp.errors import UserError
from ntkexp.models.base import Init
from ntkexp.models.mlp import Mlp
from ntkexp.tangent.krylov import leading_pairs
from ntkexp.tangent.row_blocks import RowBlocks
from ntkexp.tangent.stored_factors import StoredFactors


@pytest.fixture(scope="module")
def stored() -> tuple[StoredFactors, StoredFactors]:
    """Gradients of an MLP on 1,200 smooth random images, in float32 and in float64: their kernel's
    eigenvalues fall slowly, as on photographs."""
    drawn = torch.Generator().manual_seed(0)
    coarse = torch.randn(1200, 3, 8, 8, generator=drawn)
    images = torch.nn.functional.interpolate(coarse, 16, mode="bilinear")
    network = models.build(Mlp(depth=2, width=40, init=Init.lecun), (3, 16, 16), 1, seed=0)
    single = StoredFactors.of(network, images)
    return single, StoredFactors.of(network.double(), images.double())


def start(block: int) -> torch.Tensor:
    return torch.randn(1200, block, generator=torch.Generator().manual_seed(1))


def test_float32_pairs_are_those_of_float64(stored: tuple[StoredFactors, StoredFactors]) -> None:
    """The bars of the whole work: residuals, eigenvalues, and the labels that vectors make."""
    single, double = stored
    count = 100
    pairs = leading_pairs(
        RowBlocks.triangle(single, rows=500).__matmul__, start(10), count, basis=400
    )
    assert (pairs.residuals <= 1e-4 * pairs.values).all()
    everyone = slice(0, 1200)
    gram = double.gram(everyone, everyone)
    values, vectors = torch.linalg.eigh(gram)
    values, vectors = values.flip(0)[:count], vectors.flip(1)[:, :count]
    torch.testing.assert_close(pairs.values, values, rtol=1e-5, atol=0)
    signs = (vectors * pairs.vectors.double()).sum(0).sign()
    same = ((vectors * signs).sign() == pairs.vectors.sign()).double().mean(0)
    assert same.min() >= 0.998
    # And the residuals that it tells are those of the exact kernel.
    told = (gram @ pairs.vectors.double() - pairs.vectors.double() * pairs.values).norm(dim=0)
    assert (told <= 1e-4 * pairs.values).all()


def test_scipy_finds_the_same(stored: tuple[StoredFactors, StoredFactors]) -> None:
    single, _ = stored
    pairs = leading_pairs(RowBlocks.triangle(single).__matmul__, start(10), 50, basis=300)
    gram = single.gram(slice(0, 1200), slice(0, 1200)).double().numpy()
    expected = eigsh(gram, 50, v0=np.ones(1200))[0][::-1]
    np.testing.assert_allclose(pairs.values, expected, rtol=1e-5)


def test_the_vectors_are_orthonormal_in_float32(
    stored: tuple[StoredFactors, StoredFactors],
) -> None:
    single, _ = stored
    pairs = leading_pairs(RowBlocks.triangle(single).__matmul__, start(10), 100, basis=400)
    off = pairs.vectors.t() @ pairs.vectors - torch.eye(100)
    assert off.abs().max() < 5e-6


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rank", [1, 7, 30])
def test_a_matrix_of_low_rank_has_no_eigenvalue_twice(dtype: torch.dtype, rank: int) -> None:
    """Also where the rank is no multiple of the block."""
    drawn = torch.Generator().manual_seed(0)
    root = torch.randn(80, rank, generator=drawn, dtype=torch.float64).to(dtype)
    matrix = root @ root.t()
    first = torch.randn(80, 4, generator=drawn, dtype=torch.float64).to(dtype)
    pairs = leading_pairs(matrix.matmul, first, count=10, basis=60)
    expected = torch.linalg.eigvalsh(matrix.double()).flip(0)[:10]
    torch.testing.assert_close(pairs.values, expected, rtol=1e-5, atol=1e-5 * float(expected[0]))
    off = pairs.vectors.t() @ pairs.vectors - torch.eye(10, dtype=dtype)
    assert off.abs().max() < 5e-6


def test_a_basis_that_cannot_be_is_refused() -> None:
    for count, basis in ((5, 4), (2, 7), (2, 14)):
        with pytest.raises(UserError, match=r"expected a multiple of 2 from \d to 12"):
            leading_pairs(torch.eye(12).matmul, torch.ones(12, 2), count, basis)
