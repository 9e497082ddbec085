"""Ours: tangent kernels divided by a Fisher matrix, and their alignment with the labels.

A VGG11 of 16 channels on two halves of CIFAR-10's classes at four moments of its training (columns,
by update). Centred alignment of J (F + damping)⁻¹ Jᵀ with the labels of the 300 images of F (top)
and of 100 held out (bottom), over damping as a share of the largest eigenvalue of F. Exact F beside
KFAC, EKFAC and the diagonal.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.papers.curvature.claims.ours import KERNELS
from ntkexp.scripts import drawing, runs

LINES = {
    "exact": ("exact", "black"),
    "ekfac": ("EKFAC", drawing.BLUE),
    "kfac": ("KFAC", drawing.VERMILION),
    "diagonal": ("diagonal", drawing.GREEN),
}
SPLITS = {"train": "images of F", "test": "held out"}


def make(options: drawing.Options) -> Figure:
    (run, *_) = runs.needed(options.experiment, options.runs, ["preconditioned_kernels"])
    table = run.tables["preconditioned_kernels"]
    steps = sorted(table["step"].unique())
    figure, axes = drawing.subplots(
        2, len(steps), figsize=(drawing.PAGE, 3.2), sharex=True, sharey="row", squeeze=False
    )
    for row, (split, words) in zip(axes, SPLITS.items(), strict=True):
        row[0].set_ylabel(f"alignment, {words}")
        for panel, step in zip(row, steps, strict=True):
            cell = table[(table["split"] == split) & (table["step"] == step)]
            for kind, (label, colour) in LINES.items():
                line = cell[cell["kind"] == kind].sort_values("damping")
                panel.plot(line["damping"], line["alignment"], color=colour, label=label)
            panel.set_xscale("log")
    for panel, step in zip(axes[0], steps, strict=True):
        panel.set_title(f"update {step:,}")
    for panel in axes[1]:
        panel.set_xlabel("damping")
    axes[0, 0].legend()
    return figure


main = drawing.main(__file__, __doc__, KERNELS, make, __name__)
