"""Alignments of the kernel with its first eigenfunctions, at both ends of training."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.linearised.axis import Trained, trained
from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs
from ntkexp.scripts.linearised.task_panels import PANEL, images_of

SPLIT = "train"
KINDS = ("alignment α", "growth α_T / α₀", "growth over the trace's")


def draw(records: Sequence[Record], indices: Sequence[int] | None = None) -> Figure:
    """A row a network, of the tasks `indices` or of all: alpha before and after, their ratio, and
    the ratio over that of the traces; on training images."""
    networks = [net for net in trained(records) if net.split == SPLIT]
    chosen = [net for net in networks if indices is None or net.task in indices]
    if not chosen:
        runs.stop([f"no network on the eigenfunctions {indices}"])
    size = (drawing.PAGE, PANEL * 0.85 * len(chosen) + 0.6)
    figure, grid = drawing.subplots(len(chosen), 3, figsize=size, squeeze=False)
    for axes, net in zip(grid, chosen, strict=True):
        _row(axes, net)
    for axes in grid[-1]:
        axes.set_xlabel("index of the eigenfunction")
    drawing.legend_above(figure, *grid[0][0].get_legend_handles_labels())
    fits = "; ".join(
        f"j = {net.task}: {net.axes['labels']:.3f} with the task's axis, {net.axes['other']:.3f} "
        f"with another's, {net.axes['none']:.3f} without"
        for net in chosen
    )
    drawing.note(
        figure,
        [f"alignments on training images; R² of A_T by A_0 and one axis (ours): {fits}",
         *images_of(records)],
    )  # fmt: skip
    return figure


def _row(panels: Sequence[Axes], net: Trained) -> None:
    j = net.alignments.index
    for column, colour in (("start", "0.6"), ("end", drawing.BLUE)):
        panels[0].plot(j, net.alignments[column], color=colour, linewidth=0.8, label=column)
    for axes, values in zip(panels[1:], (net.ratios, net.over_trace), strict=True):
        axes.plot(j, values, color=drawing.BLUE, linewidth=0.8)
        axes.axhline(1, color="0.6", linewidth=0.6)
    for axes, kind in zip(panels, KINDS, strict=True):
        axes.axvline(net.task, color=drawing.VERMILION, linewidth=0.8, linestyle=":",
                     label="trained on")  # fmt: skip
        axes.set(yscale="log", ylabel=kind)
    panels[0].set_title(f"{net.title}, j = {net.task}")
