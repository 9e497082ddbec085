"""A small learning rate is not the lazy regime: α = 1 at four rates, and α = 100.

a, accuracy on training examples with wrong labels, and b, on test examples, against the loss of
the training examples with right ones; c, three measures of linearity. Every line is a network, and
ends where its iterations do. The thesis has ResNet18, here stands an MLP.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ntkexp.papers.lazy.noise_curves import looks, networks
from ntkexp.scripts import drawing
from ntkexp.scripts.lazy.noise_panels import (
    clean_axis,
    linearity,
    measures_legend,
    note,
    records_of,
)

FIGURE = "C.1"
COLOURS = {
    (1.0, 1e-2): ("α = 1, rate .01", drawing.BLACK),
    (1.0, 3e-3): ("α = 1, rate .003", drawing.BLUE),
    (1.0, 1e-4): ("α = 1, rate 1e-4", drawing.GREEN),
    (1.0, 1e-6): ("α = 1, rate 1e-6", drawing.ORANGE),
    (100.0, 1e-2): ("α = 100, rate .01", drawing.VERMILION),
}


def draw(every: pd.DataFrame) -> Figure:
    figure, panels = plt.subplots(1, 3, figsize=(drawing.PAGE, 3.2))
    labelled: set[str] = set()
    # From large to small rates: the least one, which has come least far, lies on top.
    for (_, alpha, lr, _), frame in sorted(networks(every), key=lambda one: -one[0][2]):
        label, colour = _of(alpha, lr)
        for axes, column in zip(panels, ("noisy_known", "test_known"), strict=False):
            shown = label if axes is panels[0] and label not in labelled else None
            axes.plot(frame["clean"], frame[column], color=colour, linewidth=1.0, label=shown)
        labelled.add(label)
        linearity(panels[2], [(frame, colour)])
    panels[0].set_ylabel("accuracy, noisy examples")
    panels[1].set_ylabel("accuracy, test")
    for axes in panels:
        clean_axis(axes, every)
    told = dict(zip(*reversed(panels[0].get_legend_handles_labels()), strict=True))
    order = [label for label, _ in COLOURS.values() if label in told]
    panels[0].legend([told[label] for label in order], order, loc="upper left")
    measures_legend(panels[2])
    drawing.letter_panels(panels)
    return figure


def _of(alpha: float, lr: float) -> tuple[str, str]:
    for (a, rate), found in COLOURS.items():
        if np.isclose(alpha, a) and np.isclose(lr, rate, rtol=1e-3, atol=0):
            return found
    return f"α = {alpha:g}, rate {lr:g}", "0.5"


def make(given: drawing.Options) -> Figure:
    found = records_of(given)
    figure = draw(looks(found))
    note(figure, found)
    return figure


main = drawing.main(__file__, __doc__, "lazy/noise_mlp,lazy/rates_mlp", make)

if __name__ == "__main__":
    sys.exit(main())
