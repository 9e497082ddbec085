"""Adaptive clipping: a second gradient is at most as long as the first (appendix C.1.1 of "Mutual
Information Neural Estimation").

    g_a = min(|g_u|, |g_m|) g_m / |g_m|

Mutual information is unbounded; without this it takes all of a generator's attention. The norms
are over all parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def norm(gradients: Sequence[Tensor]) -> Tensor:
    """|g| over all tensors."""
    total: Tensor = torch.linalg.vector_norm(torch.stack(torch._foreach_norm([*gradients])))
    return total


def clipped(gradients: Sequence[Tensor], by: Sequence[Tensor]) -> list[Tensor]:
    """g_a of g_m, `gradients`, and g_u, `by`; 0 where g_m is.

    >>> clipped([torch.tensor([3.0, 4.0])], by=[torch.tensor([1.0])])
    [tensor([0.6000, 0.8000])]
    """
    own = norm(gradients)
    factor = torch.where(own > 0, torch.minimum(norm(by), own) / own, 0.0)
    return [factor * gradient for gradient in gradients]
