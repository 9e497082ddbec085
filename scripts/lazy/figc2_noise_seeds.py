"""Wrong labels in both regimes, a row a seed: Figure 5.2 (bottom) is not one seed's chance.

Panels as there. The thesis has ResNet18, here stands an MLP.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.papers.lazy.curves import WRONG_LABELS, looks
from ntkexp.scripts import drawing
from ntkexp.scripts.lazy.noise_panels import draw, note, records_of

FIGURE = "C.2"


def make(options: drawing.Options) -> Figure:
    records = records_of(options)
    by_seed = looks(records, WRONG_LABELS).groupby("seed")
    figure = draw({f"seed {seed}": frame for seed, frame in by_seed}, seeds=True)
    note(figure, records)
    return figure


main = drawing.main(__file__, __doc__, "lazy/noise_mlp,lazy/noise_mlp_lazy", make, __name__)
