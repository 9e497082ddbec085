"""Kernel ridge regression by conjugate gradients, which needs no more than products with K.

    (K + penalty I) a = y

(Hestenes and Stiefel 1952; Golub and Van Loan, "Matrix Computations", 11.3). Each column of y has
coefficients of its own, and all share their products. Vectors are in float64, products in the type
of the matrix.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ntkexp.errors import UserError
from ntkexp.progress import Progress
from ntkexp.tangent.krylov import Matrix

TOLERANCE = 1e-5


def ridge_regression(matrix: Matrix, y: Tensor, penalty: float, *, steps: int = 1000) -> Tensor:
    """The coefficients a, of the shape of y (n,) or (n, b); K(x, X) @ a are the predictions at x.

    At most `steps` products; refused where a residual is above 1e-5 of its y by then.

    >>> matrix = torch.diag(torch.tensor([1.0, 3.0]))
    >>> ridge_regression(matrix, torch.tensor([2.0, 2.0]), penalty=1.0)
    tensor([1.0000, 0.5000])
    """
    if not penalty > 0:
        raise UserError(f"penalty={penalty}: expected a number above 0")
    targets = y.double().view(len(y), -1)
    a, residual, direction = torch.zeros_like(targets), targets.clone(), targets.clone()
    square = residual.square().sum(0)
    small = TOLERANCE**2 * square
    with Progress("ridge regression", steps, shown=False) as bar:
        for _ in range(steps):
            if bool((square <= small).all()):
                break
            product = (matrix @ direction.to(matrix.dtype)).double() + penalty * direction
            length = square / (direction * product).sum(0)
            length = torch.where(square <= small, 0, length)  # those that are done stand still
            a += length * direction
            residual -= length * product
            before, square = square, residual.square().sum(0)
            direction = residual + torch.where(before > 0, square / before, 0) * direction
            bar.advance()
    if bool((square > small).any()):
        worst = (square / small.clamp(min=torch.finfo(small.dtype).tiny)).max().sqrt() * TOLERANCE
        raise UserError(
            f"ridge_regression: after {steps:,} steps a residual is {worst:.1g} of its y; expected "
            f"a larger penalty than {penalty:g}, or more steps"
        )
    return a.to(y).view(y.shape)
