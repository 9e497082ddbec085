"""An MLP linearised at its weights after t epochs, trained from output zero. Ours.

On the 100th eigenfunction of its first kernel and on CIFAR2. Top: test accuracy at the end, and
that of the network itself. Bottom: the distance from the weights after t epochs, when the training
loss first is .01, or at the end. Open: where it stays above.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.papers.linearised.tasks import ALONG_TRAINING, late
from ntkexp.results.numbers.evals import last
from ntkexp.scripts import drawing, runs
from ntkexp.scripts.linearised.task_panels import LOOKS, PANEL, images_of, no_runs, records_of

FIGURE = "ours"
EXPERIMENTS = tuple(name for kind in ALONG_TRAINING for name in kind)


def make(options: drawing.Options) -> Figure:
    records = records_of(options, ("evals", "distance"))
    by_kind = {kind: [run for run in records if run.experiment == kind] for kind in EXPERIMENTS}
    drawn = [(network, later) for network, later in ALONG_TRAINING if by_kind[later]]
    if not drawn:
        runs.stop(["no linearisation at later weights"])
    figure, grid = drawing.subplots(
        2, len(drawn), figsize=(max(PANEL * len(drawn), drawing.COLUMN), 2 * PANEL), sharex=True,
        squeeze=False,
    )  # fmt: skip
    for (top, bottom), (network, later) in zip(grid.T, drawn, strict=True):
        rows = late(by_kind[later])
        label, colour, marker = LOOKS["linear"]
        top.plot(rows["epoch"], rows["accuracy"], color=colour, label=f"{label} after t epochs")
        for record in by_kind[network]:
            label, blue, _ = LOOKS["network"]
            top.axhline(
                last(record.tables["evals"]), color=blue, linestyle=":", label=f"{label} at its end"
            )
        for reached, part in rows.groupby("reached"):
            for axes, column in ((top, "accuracy"), (bottom, "distance")):
                axes.plot(part["epoch"], part[column], marker, markersize=3, color=colour,
                          markerfacecolor=colour if reached else "none")  # fmt: skip
        top.set(title=ALONG_TRAINING[network, later])
        bottom.set(xlabel="t, epochs", ylim=(0, None))
        bottom.set_xscale("symlog", linthresh=1)
        ticks = [*rows["epoch"]]
        bottom.set_xticks(ticks, [f"{epoch:g}" for epoch in ticks])
        bottom.set_xticks([], minor=True)
        bottom.set_xlim(-0.3, 1.3 * ticks[-1])
    grid[0][0].set_ylabel("test accuracy")
    grid[1][0].set_ylabel("|θ − θₜ| at a loss\nof .01 or at the end")
    drawing.legend_above(figure, *grid[0][0].get_legend_handles_labels())
    apart = "open points: the training loss stays above .01, and the distance is that at the end"
    without = [ALONG_TRAINING[kind] for kind in ALONG_TRAINING if kind not in drawn]
    drawing.note(figure, [apart, *no_runs(without), *images_of(records)])
    return figure


main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), make, __name__)
