"""CKA of one kernel with the labels under every centring, without forming a centred kernel.

With P the projector onto what centring takes away and H = I - P, two facts spare the matrices:

    |H K H|_F^2 = |K|_F^2 - 2 |P K|_F^2 + |P K P|_F^2      (Pythagoras, twice; K symmetric)
    Y_c^T H K H Y_c = Y_c^T K Y_c                          (Y_c = H Y, and H H = H)

and |P K| and |P K P| are sums of squares of means of rows. One pass over K serves all centrings;
`centring.centre` and `alignment.label_cka` are the same thing spelt out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ntkexp.theory.centring import CENTRINGS, centre_labels
from ntkexp.theory.float64 import Array, array


def label_ckas(K: ArrayLike, labels: ArrayLike) -> dict[str, float]:
    """CKA (7) of a kernel (n c, n c) with labels (n, c), by centring; 0 where K_c is zero.

    >>> label_ckas([[2.0, 0.0], [0.0, 2.0]], [[1.0], [-1.0]])
    {'class': 1.0, 'joint': 1.0, 'none': 0.7071067811865475}
    """
    kernel, targets = array(K), array(labels)
    square = float(np.vdot(kernel, kernel))
    found = {}
    for kind in CENTRINGS:
        Y = centre_labels(targets, kind)
        groups = {"class": targets.shape[1], "joint": 1}.get(kind, 0)
        norm = np.sqrt(max(square - _taken_away(kernel, groups), 0.0)) * (Y @ Y)
        # Where all is taken away, rounding leaves some 1e-8 of the kernel.
        zero = norm <= 1e-7 * np.sqrt(square) * (Y @ Y)
        found[kind] = 0.0 if zero else float(Y @ kernel @ Y / norm)
    return found


def _taken_away(K: Array, groups: int) -> float:
    """2 |P K|_F^2 - |P K P|_F^2, P the mean over the rows of each of `groups` groups."""
    if groups == 0:
        return 0.0
    size, members = len(K), len(K) // groups
    means = K.reshape(members, groups, size).mean(axis=0)
    grand = means.reshape(groups, members, groups).mean(axis=1)
    return 2 * members * float(np.vdot(means, means)) - members**2 * float(np.vdot(grand, grand))
