"""Empirical tangent kernels of real networks: exact, per layer, without the Jacobian in memory.

A library of its own: it knows tensors and modules, no runs and no configs.
"""

from ntkexp.tangent.average_features import AverageFeatures, average_features
from ntkexp.tangent.diagonal import summed_kernel, tangent_blocks, tangent_diagonal
from ntkexp.tangent.factors import Direct, Factor, Outer, Tied
from ntkexp.tangent.features import Features
from ntkexp.tangent.kernel import TangentKernel
from ntkexp.tangent.krylov import leading_eigenpairs
from ntkexp.tangent.products import pull_back, push_forward, tangent_operator
from ntkexp.tangent.ridge import ridge_regression
from ntkexp.tangent.tangent_features import (
    TangentFeatures,
    layer_factors,
    tangent_kernel,
    tangent_kernels,
)
from ntkexp.tangent.trace import SharedForward, tangent_trace

__all__ = [
    "AverageFeatures",
    "Direct",
    "Factor",
    "Features",
    "Outer",
    "SharedForward",
    "TangentFeatures",
    "TangentKernel",
    "Tied",
    "average_features",
    "layer_factors",
    "leading_eigenpairs",
    "pull_back",
    "push_forward",
    "ridge_regression",
    "summed_kernel",
    "tangent_blocks",
    "tangent_diagonal",
    "tangent_kernel",
    "tangent_kernels",
    "tangent_operator",
    "tangent_trace",
]
