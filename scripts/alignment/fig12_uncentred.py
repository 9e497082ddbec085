"""Figure 12: as Figure 11, with a kernel that is not centred.

The paper does not say whether the labels are: solid with labels as they are, dashed with labels
centred by class, as the authors' code has it. --exp takes other experiments, separated by commas.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from ntkexp.scripts import drawing, trained
from ntkexp.scripts.alignment.fig11_test_alignment import EXPERIMENTS, TABLES, of_test_examples

FIGURE = "12"

# (centring, what is centred, colour, style)
KINDS = (
    ("none", "labels as they are", drawing.VERMILION, "-"),
    ("labels", "labels centred", drawing.BLUE, "--"),
)


def draw(found: Sequence[trained.SeedRuns]) -> Figure:
    figure, panels = plt.subplots(
        1, len(found), figsize=(drawing.PAGE, 2.7), squeeze=False, sharey=True
    )
    for axes, group in zip(panels[0], found, strict=True):
        for centring, label, colour, style in KINDS:
            curve = of_test_examples(group.tables["alignment"], centring)
            if len(curve):
                trained.curve(axes, curve, "cka", colour=colour, linestyle=style, label=label)
            else:
                axes.text(0.97, 0.06, f"no runs yet with {label}", transform=axes.transAxes,
                          fontsize=6.5, ha="right", va="bottom", color=colour)  # fmt: skip
        trained.along_training([axes], group)
        axes.set(title=group.title, xlabel="iteration")
    panels[0, 0].set(ylabel="uncentred alignment, test", ylim=(0, None))
    lines = [plt.Line2D([], [], color=kind[2], linestyle=kind[3]) for kind in KINDS]
    figure.legend(lines, [kind[1] for kind in KINDS], loc="outside upper center", ncols=2)
    drawing.letter_panels(panels[0])
    trained.note(figure, found)
    return figure


main = drawing.main(__file__, __doc__, EXPERIMENTS, trained.columns(TABLES, draw))

if __name__ == "__main__":
    sys.exit(main())
