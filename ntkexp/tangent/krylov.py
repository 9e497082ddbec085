"""The leading eigenpairs of a large symmetric matrix by block Krylov iteration.

The basis is that of span{X, K X, K^2 X, ...}, X random (n, b), made orthonormal block by block:

    W = K Q_k,   W <- W - Q (Q^T W),  twice,   Q_(k+1) R = W,

each time against the whole basis Q, since in float32 a vector that was made orthogonal once still
has a part in the leading directions, whose eigenvalues are 10^4 times larger. Eigenpairs of
T = Q^T K Q, which the coefficients give, lead to those of K (Ritz; Golub and Van Loan, "Matrix
Computations", 10.3). On spectra that fall slowly, lambda_j ~ 1 / j, a basis of 3 to 3.5 times as
many vectors as pairs is needed, where subspace iteration needs ten times the products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from ntkexp.errors import UserError
from ntkexp.progress import Progress

# The Krylov space has so many vectors for each eigenpair, so many more at least, and a share of the
# pairs at a time.
BASIS, FURTHER, BLOCK = 3.2, 50, 0.1


class Matrix(Protocol):
    """A square matrix that is known by its products, such as a tensor."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> torch.dtype: ...

    def __matmul__(self, x: Tensor, /) -> Tensor: ...


@dataclass(frozen=True)
class Pairs:
    """Eigenvalues (k,) in float64, falling; unit eigenvectors (n, k); |K v - mu v| of each."""

    values: Tensor
    vectors: Tensor
    residuals: Tensor


def leading_eigenpairs(
    matrix: Matrix, count: int, generator: torch.Generator | None = None
) -> Pairs:
    """The `count` leading eigenpairs; what `generator` draws is where it begins.

    >>> pairs = leading_eigenpairs(torch.diag(torch.arange(1.0, 101.0)), count=2)
    >>> [round(value, 3) for value in pairs.values.tolist()]
    [100.0, 99.0]
    """
    size = matrix.shape[0]
    block, basis = block_and_basis(size, count)
    draws = generator or torch.Generator().manual_seed(0)
    first = torch.randn(size, block, generator=draws, dtype=matrix.dtype)
    return leading_pairs(matrix.__matmul__, first, count, basis)


def block_and_basis(size: int, count: int) -> tuple[int, int]:
    """How many vectors are multiplied at a time, and all in all."""
    block = max(1, round(BLOCK * count))
    wanted = max(round(BASIS * count / block), -(-(count + FURTHER) // block))
    return block, min(wanted, size // block) * block


def leading_pairs(
    product: Callable[[Tensor], Tensor],
    first: Tensor,
    count: int,
    basis: int,
) -> Pairs:
    """The `count` leading eigenpairs of the matrix whose `product` with (n, b) is given.

    Args:
        first: X (n, b), random.
        basis: how many vectors the Krylov space has; the products are one with each, and `count`
            more for the residuals.

    >>> matrix = torch.diag(torch.tensor([1.0, 5.0, 3.0, 2.0]).double())
    >>> pairs = leading_pairs(matrix.matmul, torch.ones(4, 1).double(), count=2, basis=4)
    >>> [round(value, 6) for value in pairs.values.tolist()]
    [5.0, 3.0]
    """
    size, block = first.shape
    if not count <= basis <= size or basis % block:
        raise UserError(
            f"{count} eigenpairs by a basis of {basis} vectors in blocks of {block}: expected a "
            f"multiple of {block} from {count} to {size}"
        )
    q, projected = first.new_empty(size, basis), torch.zeros(basis, basis, dtype=torch.float64)
    q[:, :block] = torch.linalg.qr(first)[0]
    with Progress("eigenpairs", basis + count, shown=False) as bar:
        for start in range(0, basis, block):
            q_so_far, newest = q[:, : start + block], slice(start, start + block)
            w = product(q[:, newest])
            for _ in range(2):
                coefficients = q_so_far.t() @ w
                w -= q_so_far @ coefficients
                projected[: start + block, newest] += coefficients
            bar.advance(block)
            if start + block < basis:
                q[:, start + block : start + 2 * block] = _orthonormal(w, q_so_far)
        # Only the columns' upper blocks are filled; the matrix is symmetric.
        values, vectors = torch.linalg.eigh(projected, UPLO="U")
        chosen = vectors[:, -count:].flip(1).to(q)
        leading = values[-count:].flip(0)
        ritz = q @ chosen
        del q
        few_at_a_time = zip(ritz.split(block, 1), leading.split(block), strict=True)
        residuals = [(product(v) - v * mu.to(v)).norm(dim=0) for v, mu in few_at_a_time]
        bar.advance(count)
    return Pairs(leading, ritz, torch.cat(residuals).double())


def _orthonormal(w: Tensor, q: Tensor) -> Tensor:
    """Q_(k+1). Where Q has all of K already, what is left of W is rounding and not orthogonal to Q:
    random vectors take the place of such columns."""
    new: Tensor = torch.linalg.qr(w)[0]
    draws = torch.Generator().manual_seed(0)
    allowed = torch.finfo(w.dtype).eps ** 0.5
    while (lost := (q.t() @ new).norm(dim=0) > allowed).any():
        drawn = torch.randn(w.shape, generator=draws, dtype=w.dtype).to(w.device)
        new = torch.where(lost, drawn, new)
        new = torch.linalg.qr(new - q @ (q.t() @ new))[0]
    return new
