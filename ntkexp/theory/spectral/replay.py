"""Training as the tangent kernel of one step has it, on the mean of r^2 / 2 with r = f - y.

For Adam with the scales D = diag(1 / (sqrt(v^) + epsilon)) of that step, K = Phi D Phi^T and
q = Phi D m, to first order in the rate:

    q <- b1 q + (1 - b1) K r / N,    r <- r - eta q / (1 - b1^t).

Gradient descent has b1 = 0, q = 0 and D = 1. Each eigenvector of K goes its own way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ntkexp.theory.float64 import Array, array


@dataclass(frozen=True)
class Step:
    """The frozen state: K (n, n), q and r (n,), eta, b1, and the number of updates before it."""

    kernel: Array
    momentum: Array
    residual: Array
    rate: float
    beta: float = 0.0
    updates: int = 0


def replay(at: Step, after: Sequence[int]) -> Array:
    """(len(after), n): the residual after so many further steps.

    >>> one = Step(np.eye(1), np.zeros(1), np.ones(1), rate=0.5)
    >>> replay(one, [2, 1])[:, 0].tolist()
    [0.25, 0.5]
    """
    values, vectors = np.linalg.eigh(array(at.kernel))
    q, r = vectors.T @ at.momentum, vectors.T @ at.residual
    residuals, wanted = dict[int, Array](), set(after)
    for number in range(1, max(after) + 1):
        q = at.beta * q + (1 - at.beta) * values * r / len(r)
        r = r - at.rate * q / (1 - at.beta ** (at.updates + number))
        if number in wanted:
            residuals[number] = array(vectors @ r)
    return np.array([residuals[number] for number in after])


def edge(at: Step) -> float:
    """eta lambda_1 / N, beyond which the first eigenvector grows: 2 (1 + b1) / (1 - b1)."""
    return float(at.rate * np.linalg.eigvalsh(array(at.kernel))[-1] / len(at.residual))


def label_score(kernel: Array, labels: Array) -> float:
    """sum_j (u_j^T y)^2 log lambda_j / |y|^2 with centred labels: high where labels lie
    in leading eigenvectors. An eigenvalue below rounding counts as large as rounding.

    >>> low, high = np.diag([1.0, 1.0, 4.0]), np.diag([4.0, 4.0, 1.0])
    >>> label_score(low, np.array([1.0, -1.0, 0.0])) < label_score(high, np.array([1.0, -1.0, 0.0]))
    True
    """
    values, vectors = np.linalg.eigh(array(kernel))
    y = array(labels) - np.mean(labels)
    floor = values[-1] * len(values) * np.finfo(float).eps
    shares = (vectors.T @ y) ** 2 / (y @ y)
    return float(shares @ np.log(np.maximum(values, floor)))
