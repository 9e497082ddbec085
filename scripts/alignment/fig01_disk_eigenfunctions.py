"""Figure 1: eigenfunctions of the tangent kernel on the square while a network learns the disk.

Columns: eigenfunctions in order of their eigenvalues; rows: iterations. Each image runs from blue
(negative) over white to red on a scale of its own; the black circle is the boundary of the
classes. Above each image stands lambda_j / lambda_1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from ntkexp.data.points import RADIUS
from ntkexp.scripts import drawing, runs, trained

FIGURE = "1"
RANKS = (1, 2, 3, 4, 5, 6, 10, 20)
ITERATIONS = (0, 20, 100, 300, 2000)
TABLES = ("eigenfunctions", "eigenvalues", "points")


def draw(group: trained.SeedRuns) -> Figure:
    """One run's figure."""
    functions, eigenvalues, points = (group.tables[name] for name in TABLES)
    uncentred = group.config.get("probe.eigenfunctions.centring") == "none"
    steps = _nearest(ITERATIONS, functions["step"].unique())
    # A small run may have kept fewer.
    ranks = [rank for rank in RANKS if rank in functions["rank"].unique()]
    lattice = points[points["split"] == "test"].set_index("point")
    # Rows of the image from below: y grows slowly, x fast, however the points are numbered.
    order = lattice.sort_values(["y", "x"]).index
    side = round(len(lattice) ** 0.5)
    figure, panels = drawing.subplots(
        len(steps),
        len(ranks),
        figsize=(drawing.PAGE, drawing.PAGE * 1.17 * len(steps) / len(ranks)),
        squeeze=False,
    )
    for row, step in zip(panels, steps, strict=True):
        values = eigenvalues[eigenvalues["step"] == step].set_index("rank")["eigenvalue"]
        now = functions[functions["step"] == step]
        for axes, rank in zip(row, ranks, strict=True):
            image = now[now["rank"] == rank].set_index("point")["value"]
            _image(axes, image.loc[order].to_numpy().reshape(side, side))
            axes.set_title(_ratio(values[rank] / values[1]), fontsize=6.5, pad=2)
        row[0].set_ylabel(f"iteration {step}", fontsize=7)
    for axes, rank in zip(panels[-1], ranks, strict=True):
        axes.set_xlabel(f"$u_{{{rank}}}$")
    trained.note(
        figure,
        [group],
        f"seed {group.records[0].seed}; each image on a scale of its own; "
        + ("kernel not centred" if uncentred else trained.CENTRED),
    )
    return figure


def _image(axes: Axes, image: np.ndarray) -> None:
    largest = float(np.abs(image).max())
    # The outermost points lie on the sides of the square: half a pixel stands out.
    edge = 1 + 1 / (len(image) - 1)
    axes.imshow(
        image,
        cmap="RdBu_r",
        vmin=-largest,
        vmax=largest,
        extent=(-edge, edge, -edge, edge),
        origin="lower",
        interpolation="nearest",
    )
    axes.add_patch(Circle((0, 0), RADIUS, fill=False, linewidth=0.6))
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(True)


def _ratio(share: float) -> str:
    if share == 1:
        return r"$\lambda_1$"
    return f"{100 * share:.2g} %"


def _nearest(wanted: Sequence[int], recorded: np.ndarray) -> list[int]:
    """The recorded steps closest to the wanted ones, each once."""
    return sorted({int(recorded[np.abs(recorded - step).argmin()]) for step in wanted})


def make(options: drawing.Options) -> Figure:
    """Draws one of several seeds: an average of eigenfunctions would mean nothing."""
    record = runs.one(options.experiment, options.runs, TABLES)
    return draw(trained.SeedRuns((record,), runs.joined([record], TABLES)))


main = drawing.main(__file__, __doc__, "disk", make, __name__)
