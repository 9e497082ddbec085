"""Figure 7: how much the outputs on test examples vary along directions of weight space.

The 50 leading right singular vectors of the Jacobian of the training batch, then 50 random
directions. Dots: the derivative; crosses: a step that was really taken. Root mean square change of
the output vector for each unit of distance in weight space.
"""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ntkexp.scripts import drawing, trained

FIGURE = "7"
TABLES = ("directions",)
KINDS = (("singular", "singular vectors", drawing.BLUE), ("random", "random", drawing.ORANGE))
METHODS = (("jvp", "derivative", "o", 3.0), ("perturbation", "step taken", "x", 3.5))


def draw(group: trained.SeedRuns) -> Figure:
    figure, axes = drawing.subplots(figsize=(drawing.COLUMN, 2.6))
    directions = group.tables["directions"]
    count = int(directions["index"].max()) + 1
    for offset, (kind, words, colour) in zip((0, count), KINDS, strict=True):
        for method, _, marker, size in METHODS:
            part = directions[(directions["kind"] == kind) & (directions["method"] == method)]
            values = part.pivot(index="run", columns="index", values="variation")
            x = values.columns.to_numpy() + 1 + offset
            if group.seeds > 1 and method == "jvp":
                low, high = drawing.band(values.to_numpy())
                axes.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
            axes.plot(x, values.mean(), marker, color=colour, markersize=size, markeredgewidth=0.7,
                      fillstyle="none")  # fmt: skip
        axes.text(
            offset + (count + 1) / 2,
            0.02,
            words,
            color=colour,
            ha="center",
            transform=axes.get_xaxis_transform(),
        )
    axes.axvline(count + 0.5, color="0.6", linewidth=0.6)
    axes.set(yscale="log", xlabel="direction", ylabel="output variation", title=group.title)
    marks = [
        Line2D([], [], color="black", marker=marker, linestyle="", markersize=size,
               markeredgewidth=0.7, fillstyle="none")
        for _, _, marker, size in METHODS
    ]  # fmt: skip
    axes.legend(marks, [label for _, label, _, _ in METHODS], loc="upper right", handletextpad=0.2)
    # Room for the words below the dots.
    low, high = axes.get_ylim()
    axes.set_ylim(low * (low / high) ** 0.12, high)
    trained.note(figure, [group])
    return figure


def make(options: drawing.Options) -> Figure:
    ((group,),) = trained.groups(options, TABLES)
    return draw(group)


main = drawing.main(__file__, __doc__, "vgg11_directions", make, __name__)
