"""The words and limits of theory that an option may have, apart from what computes with them.

They load no numpy, so that composing a config does not.
"""

from __future__ import annotations

from enum import StrEnum

# Of kernels and labels: ntkexp/theory/centring.py.
CENTRINGS = ("class", "joint", "none")
# Examples of which all signs are enumerated: ntkexp/theory/rademacher.py.
LARGEST_ENUMERATION = 20


class Kappa(StrEnum):
    """grad_norm: |c|, so that lambda_j shrinks by |c_j| / |c| <= 1.
    grad_max: max_j |c_j|, so that the mode with the largest residual keeps its eigenvalue.
    const: what keeps the largest eigenvalue of the kernel constant.
    none: 1, equation (17) to the letter, whose kernel scales with the gradient and the loss.
    """

    grad_norm = "grad_norm"
    grad_max = "grad_max"
    const = "const"
    none = "none"


class Loss(StrEnum):
    """mean: sum (f - y)^2 / n, the paper's mean squared loss. half_sum: |f - y|^2 / 2."""

    mean = "mean"
    half_sum = "half_sum"

    def gradient_over_residual(self, examples: int) -> float:
        """grad_f L = this times (f - y)."""
        return 2.0 / examples if self is Loss.mean else 1.0
