"""Figure 6: complexity measures and the generalisation gap.

Left: by hidden width, one hidden layer on MNIST. Centre: by the share of random labels, 256 units.
Right: by channels, VGG19 on CIFAR-10. Every measure is divided by its largest value among the
networks of its panel. Black: the gap between test and training error. Thick: the paper's measure,
equation (18), and that of Neyshabur et al. (2018), for deeper networks its stand-in. --exp takes
other experiments, separated by commas.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import drawing
import matplotlib.pyplot as plt
import pandas as pd
import trained
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.claims.curves import agreement

EXPERIMENTS = "complexity_width,complexity_noise,complexity_channels"
TABLES = ("complexity", "measures")
AXES = {
    "complexity_width": ("model.width", "hidden units"),
    "complexity_noise": ("data.noise", "share of random labels"),
    "complexity_channels": ("model.base", "channels"),
}
SWEPT = tuple(key for key, _ in AXES.values())

GAP, OURS, NEYSHABUR = "gap_error", "complexity", "neyshabur"
# (measure, name, colour, marker); those without a colour of their own are told by their markers.
BOLD = (
    (GAP, "gap (error)", drawing.BLACK, "o"),
    (OURS, "ours, (18)", drawing.VERMILION, "s"),
    (NEYSHABUR, "Neyshabur 2018", drawing.BLUE, "D"),
)
OTHERS = (
    ("parameters", "parameters"),
    ("l2_norm", r"$\ell_2$ norm"),
    ("distance", "distance from init"),
    ("frobenius_product", "Frobenius product"),
    ("spectral_product", "spectral product"),
    ("l1_path_norm", r"$\ell_1$ path norm"),
    ("l2_path_norm", r"$\ell_2$ path norm"),
    ("spectral_two_one", "spectral × (2,1)"),
    ("spectral_frobenius", "spectral × Frobenius"),
    ("fisher_rao", "Fisher–Rao"),
    ("inverse_squared_margin", r"1 / margin$^2$"),
    ("frobenius_bound", "Frobenius bound"),
    ("neyshabur_core", "core of Neyshabur 2018"),
)
# Every colour twice: a pair is told apart by its markers, filled and not.
HUES = (drawing.GREEN, drawing.PURPLE, drawing.ORANGE, drawing.SKY, "#8C6D31", "#7F7F7F", "#BBBBBB")
COLOURS = (*HUES[:6], *HUES)
MARKERS = ("v", "^", "<", ">", "p", "h", "x", "+", "1", "2", "*", "3", "4")


def values(groups: Sequence[trained.Group], key: str) -> pd.DataFrame:
    """One row a run: every measure at the end, C included, and the swept value in `x`."""
    frames = []
    for group in groups:
        measures = group.tables["measures"]
        table = measures.pivot(index="run", columns="measure", values="value")
        table[OURS] = group.tables["complexity"].groupby("run")["complexity"].last()
        two_layers = "neyshabur_bound" in table
        # Two layers have bounds of their own; for deeper networks a stand-in takes their place.
        table[NEYSHABUR] = table["neyshabur_bound" if two_layers else "spectral_frobenius"]
        for measure in ("spectral_two_one", "spectral_frobenius"):
            if two_layers:
                table[measure] = table[f"two_layer_{measure}"]
        frames.append(table.assign(x=group.config[key]))
    return pd.concat(frames)


def draw(found: Sequence[Sequence[trained.Group]]) -> Figure:
    figure, panels = plt.subplots(
        1, len(found), figsize=(drawing.PAGE, 3.5), squeeze=False, sharey=True
    )
    for axes, groups in zip(panels[0], found, strict=True):
        key, words = AXES[groups[0].config["name"]]
        panel(axes, values(groups, key))
        axes.set(xlabel=words, title=title(groups[0]))
        if key == "model.width":
            axes.set_xscale("log", base=2)
    panels[0, 0].set(ylabel="value / largest value", ylim=(0, 1.05))
    handles, labels = panels[0, 0].get_legend_handles_labels()
    bold = len(BOLD)
    figure.legend(
        handles[-bold:] + handles[:-bold],
        labels[-bold:] + labels[:-bold],
        loc="outside upper center",
        ncols=5,
        columnspacing=1.0,
        labelspacing=0.3,
    )
    trained.note(figure, [group for groups in found for group in groups])
    return figure


def title(group: trained.Group) -> str:
    """What the panel does not vary."""
    data = "MNIST" if group.config["data.name"] == "mnist" else "CIFAR-10"
    size = group.config["data.train_examples"]
    net = {
        "complexity_width": "one hidden layer",
        "complexity_noise": f"{group.config.get('model.width')} hidden units",
        "complexity_channels": "VGG19",
    }[group.config["name"]]
    return f"{net}\n{f'{size:,} of ' if size else ''}{data}"


def panel(axes: Axes, table: pd.DataFrame) -> None:
    """Means over seeds; the band, of the bold curves."""
    for (measure, name), colour, marker in zip(OTHERS, COLOURS, MARKERS, strict=True):
        if measure not in table:
            continue
        mean = table.groupby("x")[measure].mean()
        axes.plot(
            mean.index,
            mean / table[measure].max(),
            color=colour,
            marker=marker,
            label=name,
            linewidth=0.6,
            markersize=3.5,
            markeredgewidth=0.7,
            alpha=0.9,
        )
    for measure, name, colour, marker in BOLD:
        by_x = table.groupby("x")[measure]
        mean, scale = by_x.mean(), table[measure].max()
        low, high = by_x.quantile(0.1) / scale, by_x.quantile(0.9) / scale
        if (by_x.size() > 1).any():
            axes.fill_between(mean.index, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.plot(
            mean.index,
            mean / scale,
            color=colour,
            marker=marker,
            label=name,
            linewidth=2.0,
            markersize=4,
        )


def agreements(table: pd.DataFrame) -> pd.Series:
    """How far the mean of each measure puts the networks in the order of their mean gaps."""
    means = table.groupby("x").mean()
    names = [OURS, NEYSHABUR, *(name for name, _ in OTHERS if name in means)]
    return pd.Series({name: agreement(means[name], means[GAP]) for name in names})


def main(argv: Sequence[str] | None = None) -> int:
    given = drawing.options(__doc__, EXPERIMENTS, argv)
    names = given.experiment.split(",")
    found = trained.groups(given, dict.fromkeys(names, TABLES), swept=SWEPT, multirun=True)
    for name in names:
        told = agreements(values(found[name], AXES[name][0])).round(2)
        print(f"{name}: agreement with the order of the gap, 1 to -1\n{told.to_string()}")
    figure = draw([found[name] for name in names])
    for path in drawing.save(figure, given.out, "fig06_complexity"):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
