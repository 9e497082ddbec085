"""Empirical tangent kernels of real networks: exact, per layer, without the Jacobian in memory.

A library of its own: it knows tensors and modules, no runs and no configs.
"""

from ntkexp.tangent.kernel import TangentKernel, tangent_kernel, tangent_kernels
from ntkexp.tangent.trace import SharedForward, tangent_trace

__all__ = ["SharedForward", "TangentKernel", "tangent_kernel", "tangent_kernels", "tangent_trace"]
