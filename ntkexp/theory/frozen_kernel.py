"""Training with squared error under a frozen kernel, in closed form.

    L = |f - y|^2 / 2 on the training set,   f_t = f_0 + K a_t   with a frozen kernel K.

The outputs on other points are f_0* + K* a_t, K* the kernel of these with the training points, and
the weights of the linearised network theta_0 + J^T a_t. With K = U diag(mu) U^T and
r = U^T (f_0 - y),

    gradient flow        U^T a(t) = -(1 - e^{-mu t}) / mu  r         (t where -mu 0: -t r)
    gradient descent     U^T a_k  = -(1 - (1 - eta mu)^k) / mu  r
    with momentum        a_{k+1} = a_k - eta v_{k+1},  v_{k+1} = m v_k + (f_k - y),

where momentum is a 2 x 2 recurrence in each mode (Jacot et al. 2018; Lee et al. 2019,
https://arxiv.org/abs/1902.06720; George's thesis, section 5.2, prints the flow). A mean over n
examples divides the time, or eta, by n. All of it holds for full batches only. K may be singular,
and is (n c, n c), rows i c + class, for c outputs; y and f_0 are (n,) or (n, c).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import Array, array


@dataclass(frozen=True)
class FrozenKernel:
    """One eigendecomposition, from which the outputs at any time come by products.

    >>> one = FrozenKernel.of([[2.0]], f0=[0.0], y=[1.0])
    >>> one.outputs(one.descent(2, eta=0.25))
    array([0.75])
    """

    values: Array  # (N,): mu
    vectors: Array  # (N, N): U
    residual: Array  # (N,): U^T (f_0 - y)
    f0: Array
    kernel_norm: float

    @classmethod
    def of(cls, kernel: ArrayLike, f0: ArrayLike, y: ArrayLike) -> FrozenKernel:
        """The solution for the symmetric kernel of the training points."""
        K, start, target = array(kernel), array(f0), array(y)
        values, vectors = np.linalg.eigh((K + K.T) / 2)
        residual = vectors.T @ (start - target).ravel()
        return cls(values, vectors, residual, start, float(np.abs(values).max()))

    def flow(self, t: float) -> Array:
        """(N,): the coefficients a of gradient flow at time t."""
        # -expm1(-mu t) / mu, which is t where mu is 0.
        shares = np.full_like(self.values, t)
        moving = self._moving
        shares[moving] = -np.expm1(-self.values[moving] * t) / self.values[moving]
        return array(self.vectors @ (-shares * self.residual))

    def descent(self, step: int, *, eta: float, momentum: float = 0.0) -> Array:
        """(N,): the coefficients a after `step` steps from rest of

            v <- momentum v + (f - y),   a <- a - eta v.

        In a mode, with e = f - y and w = eta v along it,

            w' = m w + eta e,   e' = e - mu w',   (-a)' = -a + w'.

        The power of this matrix is taken by repeated squaring: its eigenvectors would coincide at
        critical damping. The third line adds up w, which needs no division by a small mu.
        """
        mu, m = self.values, momentum
        matrix = np.empty((len(mu), 3, 3))
        matrix[:, 0] = np.stack([1 - eta * mu, -m * mu, 0 * mu], axis=1)
        matrix[:, 1] = np.stack([eta + 0 * mu, m + 0 * mu, 0 * mu], axis=1)
        matrix[:, 2] = np.stack([eta + 0 * mu, m + 0 * mu, 1 + 0 * mu], axis=1)
        start = np.zeros((len(mu), 3, 1))
        start[:, 0, 0] = self.residual
        moved = np.linalg.matrix_power(matrix, step) @ start
        return array(self.vectors @ -moved[:, 2, 0])

    def outputs(self, a: Array, to_train: ArrayLike | None = None, f0: ArrayLike = 0.0) -> Array:
        """f_0 + K a on the training points, or on others of which `to_train` is the kernel."""
        if to_train is None:
            moved = self.vectors @ (self.values * (self.vectors.T @ a))
            return array(self.f0 + moved.reshape(self.f0.shape))
        moved = array(to_train) @ a
        start = array(f0)
        return array(start + (moved.reshape(start.shape) if start.ndim else moved))

    def distance(self, a: Array) -> float:
        """|theta - theta_0| = sqrt(a^T K a)."""
        along = self.vectors.T @ a
        return float(np.sqrt(max(0.0, float(np.sum(self.values * along**2)))))

    @property
    def _moving(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """(N,): True where mu is not zero to rounding."""
        moving: np.ndarray[tuple[int], np.dtype[np.bool_]] = (
            np.abs(self.values) > np.finfo(float).eps * self.kernel_norm
        )
        return moving
