"""Figure 3.2: the function of one network (green) over its target (blue) as training goes on."""

from __future__ import annotations

import sys

import pandas as pd
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

FIGURE = "3.2"
ROWS = 2


def draw(curve: pd.DataFrame) -> Figure:
    steps = sorted(curve["step"].unique())
    columns = -(-len(steps) // ROWS)
    figure, panels = drawing.subplots(
        *(ROWS, columns), figsize=(drawing.PAGE, 3.2), sharex=True, sharey=True, squeeze=False
    )
    for axes, step in zip(panels.flat, steps, strict=False):
        own = curve[curve["step"] == step].sort_values("point")
        z = own["point"] / len(own)
        axes.plot(z, own["target"], color=drawing.BLUE, linewidth=0.8)
        axes.plot(z, own["output"], color=drawing.GREEN, linewidth=0.8)
        axes.set_title(f"iteration {step:,}")
    for axes in panels[-1]:
        axes.set_xlabel("$z$")
    return figure


main = drawing.main(__file__, __doc__, "spectral/equal", drawing.of_one_run(("curve",), draw))

if __name__ == "__main__":
    sys.exit(main())
