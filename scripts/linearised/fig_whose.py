"""Whose tasks are they? A network and its linearisation on eigenfunctions of several kernels.

Test accuracy of an MLP on eigenfunctions of its own kernel on all images; of its own kernel on
training images, extended to test images; of another MLP's kernel; of LeNet5's kernel. Last: a
LeNet5 on an eigenfunction of another LeNet5's kernel. Ours.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from ntkexp.papers.linearised.kernels import INDICES, KERNEL, KINDS, alignments, by_kind
from ntkexp.papers.linearised.tasks import each_task, experiments
from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs
from ntkexp.scripts.linearised.task_panels import (
    LOOKS,
    PANEL,
    draw_points,
    images_of,
    no_runs,
    records_of,
    untrained,
)

FIGURE = "ours"


def make(options: drawing.Options) -> Figure:
    records = records_of(options, ("evals",))
    kinds = by_kind(records)
    if not kinds:
        runs.stop(["no network with its linearisation on eigenfunctions"])
    size = (max(PANEL * 0.8 * len(kinds), drawing.COLUMN), PANEL + 0.6)
    figure, grid = drawing.subplots(1, len(kinds), figsize=size, squeeze=False, sharey=True)
    for axes, (experiment, pair) in zip(grid[0], kinds.items(), strict=True):
        for whose, (label, colour, _) in LOOKS.items():
            tasks = pair.network if whose == "network" else pair.linear
            axes.plot(tasks.index, tasks["accuracy"], color=colour, label=label)
            draw_points(axes, tasks, "accuracy", whose)
        axes.set(xscale="log", xlabel="index of the eigenfunction", title=KINDS[experiment])
        axes.set_xticks(INDICES, [str(j) for j in INDICES])
        axes.set_xticks([], minor=True)
        axes.set_xlim(INDICES[0] / 1.3, INDICES[-1] * 1.3)
    grid[0][0].set_ylabel("test accuracy")
    drawing.legend_above(figure, *grid[0][0].get_legend_handles_labels())
    without = [title for kind, title in KINDS.items() if kind not in kinds]
    signs = untrained(each_task(kinds.values()))
    drawing.note(figure, [*_beside(records), *signs, *no_runs(without), *images_of(records)])
    return figure


def _beside(records: Sequence[Record]) -> list[str]:
    """alpha_0 of the tasks over that of the own kernel's eigenfunctions, where both are known."""
    alpha = alignments(records)
    if KERNEL not in alpha.index:
        return []
    ratios = alpha / alpha.loc[KERNEL]
    texts = [
        f"{KINDS[name]}: " + ", ".join(f"{value:.2f}" for value in ratios.loc[name].dropna())
        for name in KINDS
        if name in ratios.index
    ]
    return [f"α₀ over that of its own eigenfunctions, by j: {'; '.join(texts)}"] if texts else []


EXPERIMENTS = (*(name for kind in KINDS for name in experiments(kind)), KERNEL)
main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), make, __name__)
