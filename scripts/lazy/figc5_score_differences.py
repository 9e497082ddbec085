"""Loss of a tenth by C-score, alpha = 1 less alpha = 100, at equal mean training loss: Figure C.5.

A panel a network: the mean over seeds, and from the least to the most. Dark tenths have low scores.
Below 0 the non-linear regime has learned the tenth better. Networks and scores as in Figures 5.2
and C.4.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ntkexp.papers.lazy.claims.noise import LAZY, PLAIN, title
from ntkexp.papers.lazy.curves import BY_SCORE, TENTHS, at_losses, looks, pairs
from ntkexp.scripts import drawing
from ntkexp.scripts.lazy.noise_panels import note, records_of
from ntkexp.scripts.lazy.score_panels import colours, tenths_legend

FIGURE = "C.5"
POINTS = 60


def make(options: drawing.Options) -> Figure:
    records = records_of(options)
    all_pairs = list(pairs(looks(records, BY_SCORE), LAZY, PLAIN))
    names = list(dict.fromkeys(name for name, *_ in all_pairs))
    size = (drawing.PAGE if len(names) > 1 else drawing.COLUMN * 1.3, 2.9)
    figure, panels = drawing.subplots(1, max(1, len(names)), figsize=size, squeeze=False)
    for axes, name in zip(panels[0], names, strict=False):
        both = [(lazy, plain) for experiment, _, lazy, plain in all_pairs if experiment == name]
        # From where every network is to where every network comes.
        high = min(float(frame["all"].iloc[0]) for pair in both for frame in pair)
        low = max(float(frame["all"].min()) for pair in both for frame in pair)
        levels = np.linspace(high, low, POINTS)[1:]
        for tenth, colour in zip(TENTHS, colours(), strict=True):
            gaps = np.stack(
                [
                    at_losses(plain, tenth, "all", levels) - at_losses(lazy, tenth, "all", levels)
                    for lazy, plain in both
                ]
            )
            drawing.mean_and_band(axes, levels, gaps, colour=colour)
        axes.axhline(0, color="black", linewidth=0.5)
        axes.set(
            xlabel="mean training loss",
            ylabel="loss, α = 1 less α = 100",
            xlim=(high, low),
            title=title(name),
        )
    tenths_legend(panels[0, 0])
    note(figure, records, BY_SCORE, last="Mean and range where there are several seeds")
    return figure


EXPERIMENTS = ("lazy/c_scores_mlp", "lazy/c_scores_vgg11", "lazy/c_scores_vgg11_lazy")
main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), make, __name__)
