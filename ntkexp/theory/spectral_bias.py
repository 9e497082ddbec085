"""Local spectral bias: what one step of gradient descent does to each mode of the function."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ntkexp.theory.float64 import Array, array


def mode_updates(eigs: ArrayLike, U: ArrayLike, loss_gradient: ArrayLike, eta: float) -> Array:
    """df_j = -eta lambda_j (u_j^T grad_f L): Lemma 1 (4), in its sampled form (48).

    U holds the unit eigenvectors u_j of the kernel matrix as columns; `loss_gradient` is the
    gradient of L with respect to the n c outputs. Exact to first order in eta.
    """
    gradient = array(loss_gradient)
    projections = array(U).T @ gradient
    return -eta * array(eigs) * projections
