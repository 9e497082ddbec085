"""Figure 3.6: Fourier transforms of the eigenvectors of a Gaussian kernel, 50 points of the line.

To the right the frequency, of which 50 points tell 26, downwards the number n of the eigenvector;
each row over its largest.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from ntkexp.scripts import drawing

FIGURE = "3.6"


def draw(spectra: pd.DataFrame) -> Figure:
    figure, axes = drawing.subplots(figsize=(drawing.COLUMN, 2.8))
    table = spectra.pivot(index="n", columns="k", values="magnitude").to_numpy()
    image = axes.imshow(
        table / table.max(axis=1, keepdims=True),
        aspect="auto",
        extent=(-0.5, table.shape[1] - 0.5, len(table) + 0.5, 0.5),
    )
    axes.set(xlabel="frequency", ylabel="eigenvector $n$")
    figure.colorbar(image, ax=axes, label="magnitude over the row's largest")
    return figure


main = drawing.main(
    __file__, __doc__, "spectral/sinusoids", drawing.of_one_run(["kernel_spectra"], draw), __name__
)
