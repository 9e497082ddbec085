"""Figure 9: minimum-norm solutions and their bounds as features go from white to anisotropic.

A column for each half-width a of the interval [-a, a], which the paper does not name. Top:
solutions on subsamples, less their mean, in the plane of two right singular vectors, with the ratio
of the widest to the narrowest spread at the largest c. Bottom: test error, l2 bound and optimised
bound against the scaling factor c; mean over 100 subsamples, band from the 10th to the 90th
centile. Dotted: the optimised bound in the eigenvectors that all c > 0 share, which at c = 0 are as
good as any others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.alignment.claims.linear import scatter as spread_ratio
from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs

FIGURE = "9"
TABLES = ("scaling", "solutions")
RATIO = (
    "ratio: the widest over the narrowest spread of the solutions at the largest c; each scatter "
    "has a scale of its own"
)
SHOWN = (0.0, 0.5, 0.9, 0.99)
CURVES = (
    ("l2_bound", r"$\ell^2$ bound", drawing.BLUE),
    ("optimised_bound", "optimised bound", drawing.VERMILION),
    ("test_error", "test error", drawing.BLACK),
)


def draw(records: Sequence[Record]) -> Figure:
    """Runs in order of their half-width."""
    figure, panels = drawing.subplots(2, len(records), figsize=(drawing.PAGE, 4.6), squeeze=False)
    for column, record in zip(panels.T, records, strict=True):
        solutions = record.tables["solutions"]
        scatter(column[0], solutions, _reach(record))
        column[0].set_title(f"$a = {record.axis:g}$: ratio {spread_ratio(solutions):.2g}")
        curves(column[1], record.tables["scaling"])
    panels[1, 0].set_ylabel("test error, bounds")
    panels[0, 0].set_ylabel(r"$\langle \varphi_{10}, w^* \rangle$, centred")
    figure.legend(
        *panels[0, 0].get_legend_handles_labels(),
        loc="outside upper center",
        ncols=len(SHOWN),
        handletextpad=0.1,
        markerscale=2,
    )
    # Between the bounds and the error.
    panels[1, 0].legend(
        loc="upper right", bbox_to_anchor=(1, 0.71), fontsize=6.5, labelspacing=0.2, borderaxespad=0
    )
    limits = np.array([axes.get_ylim() for axes in panels[1]])
    for axes in panels[1]:
        axes.set_ylim(limits[:, 0].min(), limits[:, 1].max())
    subsamples = records[0].tables["scaling"]["subsample"].nunique()
    drawing.note(
        figure, [RATIO, f"{subsamples} subsamples; lower row: {drawing.band_label(subsamples)}"]
    )
    return figure


def _reach(record: Record) -> float:
    """The largest distance of the drawn solutions from their mean, and a margin."""
    solutions = record.tables["solutions"]
    near = solutions["c"].isin(_nearest(solutions))
    return 1.05 * float(solutions.loc[near, ["first", "second"]].abs().max().max())


def _nearest(solutions: pd.DataFrame) -> list[float]:
    """The recorded factors that lie next to `SHOWN`."""
    factors = np.sort(solutions["c"].unique())
    return sorted({float(factors[np.abs(factors - c).argmin()]) for c in SHOWN})


def scatter(axes: Axes, solutions: pd.DataFrame, reach: float) -> None:
    factors = _nearest(solutions)
    clouds = {c: solutions[solutions["c"] == c][["first", "second"]] for c in factors}
    # The wider a cloud, the lower it lies: none covers another.
    lower = sorted(factors, key=lambda c: -float(clouds[c].std().max()))
    for c, colour in zip(factors, drawing.shades(len(factors)), strict=True):
        axes.scatter(*clouds[c].to_numpy().T, s=3, color=colour, label=f"$c = {c:g}$",
                     zorder=2 + 0.1 * lower.index(c))  # fmt: skip
    axes.set(xlabel=r"$\langle \varphi_1, w^* \rangle$, centred")
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")


def curves(axes: Axes, scaling: pd.DataFrame) -> None:
    factors = np.sort(scaling["c"].unique())
    for name, label, colour in CURVES:
        values = drawing.by_seed(scaling, name, x="c", seed="subsample")
        drawing.mean_and_band(axes, factors, values, colour=colour, label=label)
    common = drawing.by_seed(scaling, "common_basis_bound", x="c", seed="subsample").mean(axis=0)
    axes.plot(factors, common, color=drawing.VERMILION, linestyle=":", linewidth=0.9)
    # The error falls from a half to a hundredth: on a linear axis it would be a line on zero.
    axes.set(xlabel="scaling factor $c$", yscale="log")


def make(options: drawing.Options) -> Figure:
    records = runs.needed(options.experiment, options.runs, TABLES)
    first = min(record.seed for record in records)
    return draw(sorted((r for r in records if r.seed == first), key=lambda record: record.axis))


main = drawing.main(__file__, __doc__, "feature_scaling", make, __name__)
