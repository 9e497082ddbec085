"""What lower bounds of a mutual information show of n pairs by the best function there is.

Median, and 5th to 95th centile of 100 samples, without any training.

Twenty coordinates; the grey line is the truth. Where that is large, Donsker-Varadhan is too high,
the median of NWJ by a nat; InfoNCE cannot exceed log 128.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

BOUNDS = {"DV": drawing.BLUE, "NWJ": drawing.VERMILION, "InfoNCE": drawing.GREEN}


def draw(table: pd.DataFrame) -> Figure:
    rhos = sorted(table["rho"].unique())
    figure, row = drawing.subplots(
        1, len(rhos), figsize=(drawing.PAGE, 2), squeeze=False, sharex=True
    )  # fmt: skip
    for axes, rho in zip(row[0], rhos, strict=True):
        rows = table[table["rho"] == rho].sort_values("n")
        axes.axhline(rows["truth"].iloc[0], color="0.6")
        for bound, colour in BOUNDS.items():
            of_one = rows[rows["bound"] == bound]
            axes.fill_between(of_one["n"], of_one["low"], of_one["high"], color=colour, alpha=0.2)
            axes.plot(of_one["n"], of_one["median"], color=colour, label=bound)
        axes.set(xscale="log", xlabel="pairs $n$", title=rf"$\rho = {rho:g}$")
    row[0][0].set_ylabel("nats")
    row[0][0].legend()
    return figure


main = drawing.main(
    __file__, __doc__, "information/limits", drawing.of_one_run(["information_limits"], draw),
    __name__,
)  # fmt: skip
