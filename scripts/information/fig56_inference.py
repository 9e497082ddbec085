"""Figure 5.6: reconstructions, and samples, of 25 Gaussians by encoders and decoders of one seed.

Errors and modes are means over the looks of the last third: of this seed and, in brackets, of all.
Points are those of the last look.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ntkexp.papers.information.claims.inference import LABELS, SEED, VARIANT, late_looks
from ntkexp.scripts import drawing
from ntkexp.scripts.information.toy_panels import SIDE

FIGURE = "5.6"


def draw(looks: pd.DataFrame, points: pd.DataFrame) -> Figure:
    figure, panels = drawing.subplots(
        2, len(LABELS), figsize=(drawing.PAGE, 3.6), sharex=True, sharey=True
    )  # fmt: skip
    late = late_looks(looks).groupby([VARIANT, SEED])[["captured", "error"]].mean()
    seed = looks[SEED].min()
    for column, (variant, label) in zip(panels.T, LABELS.items(), strict=True):
        one = points[(points[VARIANT] == variant) & (points[SEED] == seed)]
        found = late.loc[variant]
        captured, error = found["captured"], found["error"]
        above = f"{label}\nerror {error[seed]:.2f} ({error.mean():.2f})"
        below = f"{captured[seed]:.0f} modes ({captured.min():.0f} to {captured.max():.0f})"
        for axes, kind, title in zip(column, ("again", "sample"), (above, below), strict=True):
            axes.plot(one[f"{kind}_x"], one[f"{kind}_y"], ".", markersize=1, rasterized=True)
            axes.set(title=title, xlim=(-SIDE, SIDE), ylim=(-SIDE, SIDE), aspect="equal")
    for axes, words in zip(panels[:, 0], ("reconstructions", "samples"), strict=True):
        axes.set_ylabel(words)
    return figure


TABLES = ("inference_looks", "inference_points")
main = drawing.main(
    __file__, __doc__, "information/inference", drawing.of_one_run(TABLES, draw), __name__
)
