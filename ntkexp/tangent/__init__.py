"""Empirical tangent kernels of real networks: exact, per layer, without the Jacobian in memory.

A library of its own: it knows tensors and modules, no runs and no configs.
"""

from ntkexp.tangent.kernel import TangentKernel, tangent_kernel, tangent_kernels

__all__ = ["TangentKernel", "tangent_kernel", "tangent_kernels"]
