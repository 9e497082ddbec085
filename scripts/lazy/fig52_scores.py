"""Examples in tenths by their C-score, in both regimes: the upper half of Figure 5.2.

a, loss of every tenth of the training examples against the mean training loss, solid for alpha = 1
and dashed for alpha = 100; dark tenths have low scores, which is hard examples. b, three measures
of linearity. Training goes to the right, one seed. The thesis has ResNet18 of 64 channels; here
stands a smaller network, with scores estimated here.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.papers.lazy.curves import BY_SCORE
from ntkexp.scripts import drawing
from ntkexp.scripts.lazy.noise_panels import note, records_of
from ntkexp.scripts.lazy.score_panels import draw, rows

FIGURE = "5.2"


def make(options: drawing.Options) -> Figure:
    records = records_of(options)
    figure = draw(rows(records))
    note(figure, records, BY_SCORE, seeds=", the first seed")
    return figure


main = drawing.main(__file__, __doc__, "lazy/c_scores_mlp", make, __name__)
