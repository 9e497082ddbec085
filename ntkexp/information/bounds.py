"""Lower bounds of a mutual information by a function T of pairs ("Mutual Information Neural
Estimation", Belghazi et al. 2018, chapter 5 of Baratin's thesis).

P is the distribution of pairs (x, z), Q that of x and z drawn apart, and I = KL(P || Q):

    Donsker-Varadhan (6)    E_P T - log E_Q e^T      = I at T = log dP/dQ + any constant
    NWJ (8)                 E_P T - E_Q e^(T - 1)    = I at T = log dP/dQ + 1

The first is never below the second. Their means over samples are another matter: the logarithm of
a mean over few samples is too low, so the first bound comes out too high.
"""

from __future__ import annotations

import math

from torch import Tensor


def log_mean_exp(values: Tensor) -> Tensor:
    """log of the mean of e^values along the last dimension."""
    return values.logsumexp(-1) - math.log(values.shape[-1])


def donsker_varadhan(joint: Tensor, apart: Tensor) -> Tensor:
    """(6) by T of pairs, (n,), and T of x and z that were drawn apart, (m,).

    >>> import torch
    >>> donsker_varadhan(torch.tensor([3.0, 3.0]), torch.tensor([3.0])).item()
    0.0
    """
    return joint.mean(-1) - log_mean_exp(apart)


def nwj(joint: Tensor, apart: Tensor) -> Tensor:
    """(8) by the same."""
    return joint.mean(-1) - (apart - 1).exp().mean(-1)


def info_nce(scores: Tensor) -> Tensor:
    """The mean of T(x_i, z_i) - log mean_j e^T(x_i, z_j) (van den Oord et al. 2018), log K at most.

    scores: (..., K, K), T of x_i and z_j at [i, j].
    """
    return (scores.diagonal(dim1=-2, dim2=-1) - log_mean_exp(scores)).mean(-1)
