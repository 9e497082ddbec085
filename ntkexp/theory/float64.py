"""The one kind of array the formulas take and give."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def array(values: ArrayLike) -> Array:
    """`values` in float64, without a copy where they are already."""
    return np.asarray(values, dtype=np.float64)
