"""Figure 9: minimum-norm solutions and their bounds as features go from white to anisotropic.

a: solutions on subsamples, less their mean, in the plane of two right singular vectors. b: test
error, l2 bound and optimised bound against the scaling factor c; mean over subsamples, band from
the 10th to the 90th centile. Dotted: the optimised bound in the eigenvectors that all c > 0 share,
which at c = 0 are as good as any others.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import drawing
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

SHOWN = (0.0, 0.5, 0.9, 0.99)
CURVES = (
    ("l2_bound", r"$\ell^2$ bound", drawing.BLUE),
    ("optimised_bound", "optimised bound", drawing.VERMILION),
    ("test_error", "test error", drawing.BLACK),
)


def draw(scaling: pd.DataFrame, solutions: pd.DataFrame) -> Figure:
    figure, (left, right) = plt.subplots(1, 2, figsize=(drawing.PAGE, 2.7), width_ratios=(1, 1.4))
    scatter(left, solutions)
    curves(right, scaling)
    drawing.letter_panels((left, right))
    return figure


def scatter(axes: Axes, solutions: pd.DataFrame) -> None:
    found = np.sort(solutions["c"].unique())
    shown = sorted({float(found[np.abs(found - c).argmin()]) for c in SHOWN})
    for c, colour in zip(shown, drawing.shades(len(shown)), strict=True):
        frame = solutions[solutions["c"] == c]
        axes.scatter(frame["first"], frame["second"], s=6, color=colour, label=f"$c = {c:g}$")
    axes.set(xlabel=r"$\langle \varphi_1, w^* \rangle$, centred")
    axes.set(ylabel=r"$\langle \varphi_{10}, w^* \rangle$, centred")
    reach = 1.05 * solutions.loc[solutions["c"].isin(shown), ["first", "second"]].abs().max().max()
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    axes.legend(loc="upper left", handletextpad=0.1, borderaxespad=0)


def curves(axes: Axes, scaling: pd.DataFrame) -> None:
    factors = np.sort(scaling["c"].unique())
    for name, label, colour in CURVES:
        values = drawing.by_seed(scaling, name, x="c", seed="subsample")
        drawing.mean_and_band(axes, factors, values, colour=colour, label=label)
    common = drawing.by_seed(scaling, "common_basis_bound", x="c", seed="subsample").mean(axis=0)
    axes.plot(factors, common, color=drawing.VERMILION, linestyle=":", linewidth=0.9)
    axes.set(xlabel="scaling factor $c$", ylim=(0, None))
    axes.legend(loc="upper center")


def main(argv: Sequence[str] | None = None) -> int:
    given = drawing.options(__doc__, "feature_scaling", argv)
    names = ("scaling", "solutions")
    tables = drawing.one_run(drawing.load(given, names, verb="study"))
    figure = draw(*(tables[name] for name in names))
    for path in drawing.save(figure, given.out, "fig09_feature_scaling"):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
