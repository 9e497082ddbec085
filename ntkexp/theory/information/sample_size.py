"""How many samples Theorem 5.5 asks for, as printed.

Its constants are not those of its proof: with deviations of epsilon / 4 and functions within M,
Hoeffding's inequality gives 2 exp(-n epsilon^2 / (32 M^2)), where (26) prints
2 exp(-n epsilon^2 / (2 M^2)); and (32) leaves out the e^M of (20).
"""

from __future__ import annotations

import math


def samples(
    epsilon: float, delta: float, *, M: float, K: float, L: float, parameters: int
) -> float:
    """(15): 2 M^2 (d log(16 K L sqrt(d) / epsilon) + 2 d M + log(2 / delta)) / epsilon^2.

    Args:
        epsilon: the accuracy, in nats.
        delta: the probability with which it may be missed.
        M: bound of |T| and e^T.
        K: bound of the norm of the parameters.
        L: Lipschitz constant of T in its parameters.
        parameters: d.

    >>> round(samples(0.1, 0.05, M=1, K=1, L=1, parameters=100))
    188293
    """
    d = parameters
    log_cover = d * math.log(16 * K * L * math.sqrt(d) / epsilon) + 2 * d * M
    return 2 * M**2 * (log_cover + math.log(2 / delta)) / epsilon**2
