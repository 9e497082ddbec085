"""Wrong labels in both regimes, by accuracy: the left half of Figure C.6.

a, accuracy on the training examples with wrong labels and, b, on test examples, against accuracy on
those with right ones. Training goes to the right, every line is a network. The inset has the last
hundredths, where the MLP memorises, with the levels of a tenth and a fifth at which it is judged.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.lazy.claims.noise import MEMORISED
from ntkexp.papers.lazy.curves import networks
from ntkexp.scripts import drawing
from ntkexp.scripts.lazy.noise_panels import REGIMES, ROW, noted

FIGURE = "C.6"
# Networks that know so many memorise in the last hundredths, of which there is an inset.
KNOWN = 0.95
PANELS = (("noisy_known", "accuracy, noisy examples"), ("test_known", "accuracy, test"))


def draw(by_row: Mapping[str, pd.DataFrame]) -> Figure:
    figure, grid = drawing.subplots(
        len(by_row), 2, figsize=(drawing.PAGE, ROW * len(by_row) + 0.3), squeeze=False
    )
    for panels, (title, all_looks) in zip(grid, by_row.items(), strict=True):
        for axes, (column, ylabel) in zip(panels, PANELS, strict=True):
            for (_, alpha, _, _), frame in networks(all_looks):
                axes.plot(
                    frame["clean_known"], frame[column], color=REGIMES[alpha][1], linewidth=1.0
                )
            axes.set(xlabel="accuracy, clean examples", ylabel=ylabel, xlim=(0, 1.01))
        panels[0].set_ylabel(f"{title}\n{PANELS[0][1]}")
        if all_looks["clean_known"].max() > KNOWN:
            _begins(panels[0].inset_axes((0.2, 0.45, 0.6, 0.5)), all_looks)
    lines = [grid[0, 0].plot([], [], color=c, label=label)[0] for label, c in REGIMES.values()]
    grid[0, 0].legend(handles=lines, loc="upper left")
    drawing.letter_panels(grid[0])
    return figure


def _begins(axes: Axes, all_looks: pd.DataFrame) -> None:
    """Where memorising begins."""
    for (_, alpha, _, _), frame in networks(all_looks):
        axes.plot(frame["clean_known"], frame["noisy_known"], color=REGIMES[alpha][1], linewidth=1)
    for level in MEMORISED:
        axes.axhline(level, color="black", linewidth=0.5)
    axes.set(xlim=(KNOWN, 1.002), ylim=(0, 0.3))


EXPERIMENTS = (
    *("lazy/noise_resnet18", "lazy/noise_resnet18_lazy"),
    *("lazy/noise_vgg11", "lazy/noise_vgg11_lazy"),
    *("lazy/noise_cnn", "lazy/noise_cnn_lazy"),
    *("lazy/noise_mlp", "lazy/noise_mlp_lazy"),
)
main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), noted(draw), __name__)
