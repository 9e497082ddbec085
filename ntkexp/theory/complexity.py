"""The paper's complexity measure of a training run, equation (18)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.float64 import Array, array


def complexity(update_norms: ArrayLike, kernel_traces: ArrayLike) -> Array:
    """C_t = sum_{s <= t} |dw_s|_2 |Phi_s|_F with |Phi_s|_F = sqrt(Tr K_s): the running sum.

    One entry an iteration: the norm of the actual parameter change and the trace of the uncentred
    kernel before it. The last entry is C of equation (18). It is additive over t, so a run may be
    summed in parts.

    >>> complexity([1.0, 2.0], [4.0, 9.0])
    array([2., 8.])
    """
    norms = array(update_norms)
    traces = array(kernel_traces)
    return np.cumsum(norms * np.sqrt(traces))
