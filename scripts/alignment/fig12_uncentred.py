"""Figure 12: as Figure 11, with a kernel that is not centred.

The paper does not say whether the labels are: solid with labels as they are, dashed with labels
centred by class, as the authors' code has it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ntkexp.scripts import drawing, trained
from ntkexp.scripts.alignment.fig11_test_alignment import EXPERIMENTS, TABLES, of_test_examples

FIGURE = "12"

# (centring, what is centred, colour, style)
KINDS = (
    ("none", "labels as they are", drawing.VERMILION, "-"),
    ("labels", "labels centred", drawing.BLUE, "--"),
)


def numbers(group: trained.SeedRuns) -> pd.DataFrame:
    alignment = group.tables["alignment"]
    rows = (of_test_examples(alignment, centring) for centring, *_ in KINDS)
    return trained.values(pd.concat(rows), alignment="cka")


def draw(groups: Sequence[trained.SeedRuns], width: float = drawing.PAGE) -> Figure:
    figure, panels = drawing.subplots(
        1, len(groups), figsize=(width, 3.0), squeeze=False, sharey=True
    )
    titles = trained.titles(groups, [group.title for group in groups])
    for axes, group, title in zip(panels[0], groups, titles, strict=True):
        for centring, label, colour, style in KINDS:
            rows = of_test_examples(group.tables["alignment"], centring)
            trained.curve(axes, rows, "cka", colour=colour, linestyle=style, label=label)
        trained.along_training([axes], group)
        axes.set(title=title, xlabel="iteration")
    panels[0, 0].set(ylabel="alignment, test", ylim=(0, None))
    lines = [Line2D([], [], color=kind[2], linestyle=kind[3]) for kind in KINDS]
    drawing.legend_above(figure, lines, [kind[1] for kind in KINDS])
    drawing.letter_panels(panels[0])
    trained.note(figure, groups, more=["kernels as they are, not centred"])
    return figure


main = drawing.main(
    __file__, __doc__, EXPERIMENTS, trained.Columns(TABLES, draw, numbers), __name__
)
