"""Figure A.3: the first and the last eigenvector of a Gaussian kernel on 50 points of the line."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

FIGURE = "A.3"


def draw(vectors: pd.DataFrame) -> Figure:
    numbers = (vectors["n"].min(), vectors["n"].max())
    figure, row = drawing.subplots(1, 2, figsize=(drawing.PAGE, 2), sharey=True)
    for axes, n in zip(row, numbers, strict=True):
        vector = vectors[vectors["n"] == n].sort_values("x")
        axes.plot(vector["x"], vector["value"], "o-", markersize=2)
        axes.set(xlabel="$x$", title=f"$n = {n}$")
    row[0].set_ylabel("eigenvector")
    return figure


main = drawing.main(
    __file__, __doc__, "spectral/sinusoids", drawing.of_one_run(["kernel_vectors"], draw), __name__
)
