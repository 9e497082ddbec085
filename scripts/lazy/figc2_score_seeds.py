"""Tenths by C-score in both regimes, a row a seed: Figure 5.2 (top) is not one seed's chance.

Panels as there. The thesis has ResNet18, here stands an MLP.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.papers.lazy.curves import BY_SCORE, looks
from ntkexp.scripts import drawing
from ntkexp.scripts.lazy.noise_panels import note, records_of
from ntkexp.scripts.lazy.score_panels import draw

FIGURE = "C.2"


def make(options: drawing.Options) -> Figure:
    records = records_of(options)
    by_seed = looks(records, BY_SCORE).groupby("seed")
    figure = draw({f"seed {seed}": frame for seed, frame in by_seed})
    note(figure, records, BY_SCORE)
    return figure


main = drawing.main(__file__, __doc__, "lazy/c_scores_mlp", make, __name__)
