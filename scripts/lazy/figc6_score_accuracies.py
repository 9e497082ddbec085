"""Examples in tenths by their C-score, by accuracy: the right half of Figure C.6.

Accuracy on every tenth of the training examples against that on all, a panel a regime; dark tenths
have low scores. Training goes to the right, one seed.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.papers.lazy.curves import BY_SCORE, TENTHS, networks
from ntkexp.scripts import drawing
from ntkexp.scripts.lazy.noise_panels import note, records_of
from ntkexp.scripts.lazy.score_panels import NAMES, ROW, colours, rows, tenths_legend

FIGURE = "C.6"


def make(options: drawing.Options) -> Figure:
    records = records_of(options)
    by_row = rows(records)
    size = (drawing.PAGE, ROW * len(by_row) + 0.3)
    figure, grid = drawing.subplots(
        len(by_row), 2, figsize=size, squeeze=False, sharex=True, sharey=True
    )
    for panels, (name, all_looks) in zip(grid, by_row.items(), strict=True):
        by_alpha = {alpha: frame for (_, alpha, _, _), frame in networks(all_looks)}
        for axes, (alpha, words) in zip(panels, NAMES.items(), strict=True):
            if alpha in by_alpha:
                frame = by_alpha[alpha]
                for tenth, colour in zip(TENTHS, colours(), strict=True):
                    axes.plot(
                        frame["all_known"], frame[f"{tenth}_known"], color=colour, linewidth=1.0
                    )
            axes.set(title=words, xlabel="accuracy, all training examples")
            axes.tick_params(labelbottom=True, labelleft=True)
        panels[0].set_ylabel(f"{name}\naccuracy, a tenth")
    tenths_legend(grid[0, 0])
    note(figure, records, BY_SCORE, seeds=", the first seed")
    return figure


EXPERIMENTS = ("lazy/c_scores_mlp", "lazy/c_scores_vgg11", "lazy/c_scores_vgg11_lazy")
main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), make, __name__)
