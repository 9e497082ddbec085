"""Does it reproduce the paper? Every statement of its text, with the number that decides it.

One file a group of figures; LEDGER is all of them in order, in three sections: the paper's
statements, the curves of its authors' notebooks, and identities. No verdict is written by hand.
"""

from __future__ import annotations

from ntkexp.claims import (
    alignment,
    directions,
    disk,
    fourier,
    hierarchy,
    linear,
    low_rate,
    measures,
    notebooks,
    spectrum,
    theorems,
)
from ntkexp.claims.claim import Claim

LEDGER: tuple[Claim, ...] = tuple(
    sorted(
        (
            *disk.CLAIMS,
            *spectrum.CLAIMS,
            *low_rate.CLAIMS,
            *notebooks.CLAIMS,
            *alignment.CLAIMS,
            *hierarchy.CLAIMS,
            *linear.CLAIMS,
            *measures.CLAIMS,
            *directions.CLAIMS,
            *fourier.CLAIMS,
            *theorems.CLAIMS,
        ),
        key=lambda claim: claim.figure or 99,
    )
)
