"""Wrong labels in both regimes, a row a seed: Figure 5.2 (bottom) is not one seed's chance.

Panels as there. The thesis has ResNet18, here stands an MLP.
"""

from __future__ import annotations

import sys

from matplotlib.figure import Figure

from ntkexp.papers.lazy.curves import WRONG_LABELS, looks
from ntkexp.scripts import drawing
from ntkexp.scripts.lazy.noise_panels import draw, note, records_of

FIGURE = "C.2"


def make(given: drawing.Options) -> Figure:
    found = records_of(given)
    by_seed = looks(found, WRONG_LABELS).groupby("seed")
    figure = draw({f"seed {seed}": own for seed, own in by_seed}, seeds=True)
    note(figure, found)
    return figure


main = drawing.main(__file__, __doc__, "lazy/noise_mlp,lazy/noise_mlp_lazy", make)

if __name__ == "__main__":
    sys.exit(main())
