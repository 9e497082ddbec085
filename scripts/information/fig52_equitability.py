"""Figure 5.2: what MINE finds between x, uniform on [-1, 1]^2, and f(x) with noise.

Means over seeds. Below each estimate the truth, by quadrature: it is not the same for every f.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

FIGURE = "5.2"
FUNCTIONS = {"identity": "$x$", "cube": "$x^3$", "sine": r"$\sin x$"}


def draw(table: pd.DataFrame) -> Figure:
    means = table.groupby(["study.function", "study.sigma"])[["value", "truth"]].mean()
    values, truths = (means[column].unstack().loc[[*FUNCTIONS]] for column in means)
    figure, axes = drawing.subplots(figsize=(drawing.COLUMN, 2))
    image = axes.imshow(values, aspect="auto", vmin=0, vmax=truths.to_numpy().max())
    for row in range(values.shape[0]):
        for column in range(values.shape[1]):
            value, truth = values.iloc[row, column], truths.iloc[row, column]
            dark = value < truths.to_numpy().max() / 2
            axes.text(column, row, f"{value:.2f}\n({truth:.2f})", ha="center", va="center",
                      fontsize=6, color="white" if dark else "black")  # fmt: skip
    axes.set_xticks(range(values.shape[1]), [f"{sigma:g}" for sigma in values.columns])
    axes.set_yticks(range(len(FUNCTIONS)), [*FUNCTIONS.values()])
    axes.set(xlabel=r"noise $\sigma$", ylabel="$f(x)$")
    figure.colorbar(image, ax=axes, label="nats")
    return figure


main = drawing.main(
    __file__, __doc__, "information/equitability", drawing.of_one_run(["information"], draw),
    __name__,
)  # fmt: skip
