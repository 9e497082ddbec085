"""Figure 3.2: the function of one network (green) over its target (blue) as training goes on.

The ends are fitted first, with all frequencies, while the middle has the lowest ones alone.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

FIGURE = "3.2"
ROWS = 2


def draw(curve: pd.DataFrame) -> Figure:
    steps = sorted(curve["step"].unique())
    columns = -(-len(steps) // ROWS)
    figure, panels = drawing.subplots(
        *(ROWS, columns), figsize=(drawing.PAGE, 3.4), sharex=True, sharey=True, squeeze=False
    )
    for axes, step in zip(panels.flat, steps, strict=False):
        rows = curve[curve["step"] == step].sort_values("point")
        z = rows["point"] / len(rows)
        axes.plot(z, rows["target"], color=drawing.BLUE, lw=0.8, label="target $\\lambda(z)$")
        axes.plot(z, rows["output"], color=drawing.GREEN, lw=0.8, label="network $f(z)$")
        axes.set_title(f"iteration {step:,}")
    for axes in panels[-1]:
        axes.set_xlabel("$z$")
    drawing.legend_above(figure, *panels[0][0].get_legend_handles_labels())
    return figure


main = drawing.main(
    __file__, __doc__, "spectral/equal", drawing.of_one_run(("curve",), draw), __name__
)
