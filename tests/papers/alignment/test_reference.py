"""What the ledger measures on the runs that come with ntkexp, as the pages tell it.

Of runs that are at their ends alone: those of VGG19, ResNet18 and Figure 6 still grow.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ntkexp.claims.ledger import ledger
from ntkexp.claims.verdict import judge
from ntkexp.results.collect import collect
from ntkexp.results.record import Record

REFERENCE = Path(__file__).parents[3] / "outputs" / "reference"
CLAIMS = {claim.id: claim for claim in ledger(["alignment"])}
MEASURED = {
    "fig01-ratio-at-start": "1.2 ± 0.21 %",
    "fig01-ratio-at-end": "0.239 ± 0.051 %",
    "fig01-anisotropy": "5.28 ± 1.9 ×",
    "fig01-class-structure": "28.8 ± 5.6 %",
    "fig01-rotation-invariance": "92.7 ± 5.7 %",
    "fig04-easy-higher": "random labels: 4.19 ± 0.76 ×; KMNIST: 1.74 ± 0.17 ×",
    "fig04-easy-faster": "random labels: 0.113 ± 0.018; KMNIST: 0.222 ± 0.013",
    "fig04-kmnist-rises": "4.56 ± 0.35 ×",
    "fig04-kmnist-later": "11.7 ± 7.6 ×",
    "fig05-supernat-below": "0.145 ± 0.12",
    "fig05-letter-of-17": "0.55 ± 0.34 (43 of 50 hold)",
    "fig05-supernat-freezes": "6.17e-10 %",
    "fig05-supernat-stretches": "8.38e-05 ×",
    "fig05-descent-overfits": "11.7 ×",
    "fig07-top-directions": "70.8 ×",
    "fig07-random-directions": "0.819 %",
    "fig07-hierarchy": "16.9 %",
    "fig08-frequency-order": "0.821 ± 0.018",
    "fig08-first-half": "0.947 ± 0.024",
    "fig08-fourier-modes": "34.4 ± 3.8 %",
    "fig08-decay": "0.959 ± 0.2 % (1 of 5 hold)",
    "fig09-scatter": "a = 2: 13.5 ×; a = 3: 31 ×; a = 4: 10 ×; a = 5: 4.06 × (3 of 4 hold)",
    "fig09-l2-loose": "a = 2: 4.52 ×; a = 3: 3.6 ×; a = 4: 3.05 ×; a = 5: 2.67 ×",
    "fig09-l2-shape": "a = 2: -0.545; a = 3: 0.664; a = 4: -0.264; a = 5: -0.0727 (3 of 4 hold)",
    "fig09-optimised-falls": "a = 2: 0.509; a = 3: 0.519; a = 4: 0.529; a = 5: 0.529",
    "fig09-optimised-flat": "a = 2: 1 ×; a = 3: 1 ×; a = 4: 1 ×; a = 5: 1 ×",
    "fig10-labels": "100 %",
    "fig10-training-set": "500",
    "fig10-lattice": "2,500",
    "fig13-magnified": "1",
    "fig13-starts-later": "0.733 ± 0.31 (2 of 3 hold)",
    "fig13-rises-faster": "0.733 ± 0.31 (2 of 3 hold)",
    "fig13-rises-shorter": "0.467 ± 0.5",
    "fig13-higher-ratio": "1",
    "fig13-shorter": "0 ± 0.92 (1 of 3 hold)",
    "fig13-shorter-decades": "-1",
    "lemma1-order": "2 ± 7.2e-06",
    "bound10": "1",
    "bound12": "0.999",
    "lemma12": "0.0698",
    "theorem13": "0.0671",
    "modes51": "2.44e-15",
    "time-constants": "1.5e-10",
    "proposition-3": "0",
    "proposition-4": "1.61e-15 ± 4.6e-16",
    "proposition-14": "0",
    "natural-gradient": "2.36e-13 ± 1.2e-12",
    "solution-covariance": "1.76e-15 ± 8.9e-16",
}


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return collect([REFERENCE])


@pytest.mark.parametrize("claim", MEASURED)
def test_the_kept_runs_measure_what_the_pages_tell(claim: str, records: list[Record]) -> None:
    assert judge(CLAIMS[claim], records).measured == MEASURED[claim]
