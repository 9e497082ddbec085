"""Figure 6: complexity measures and the generalisation gap.

a: by hidden width, one hidden layer on MNIST. b: the same at a smaller learning rate. c: by the
share of random labels, 256 units. d: by channels, VGG19 on CIFAR-10. Every measure is divided by
its largest value among the networks of its column. Large panels: the gap between test and training
error, the paper's measure, equation (18), and that of Neyshabur et al. (2018), for deeper networks
its stand-in (spectral norms and Frobenius distances). Below: the gap itself, with the standard
errors of its means over seeds; then each of the other measures, the gap in grey behind it. Numbers:
agreement with the order of the gap, from -1 to 1. Lines and numbers: of means over seeds; bands:
least to most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.claims.curves import agreement
from ntkexp.papers.alignment.claims.measures import GAP, OURS
from ntkexp.scripts import drawing, trained

FIGURE = "6"
EXPERIMENTS = "complexity_width,complexity_width_lr001,complexity_noise,complexity_channels"
TABLES = ("complexity", "measures")
AXES = {
    "complexity_width": ("model.width", "hidden units"),
    "complexity_width_lr001": ("model.width", "hidden units"),
    "complexity_noise": ("data.noise", "share of random labels"),
    "complexity_channels": ("model.base", "channels"),
}
SWEPT = tuple(key for key, _ in AXES.values())

NEYSHABUR = "neyshabur"
# (measure, name, colour, marker)
LARGE = (
    (GAP, "gap (error)", drawing.BLACK, "o"),
    (OURS, "C, (18)", drawing.VERMILION, "s"),
    (NEYSHABUR, "Neyshabur 2018", drawing.BLUE, "D"),
)
OTHERS = (
    ("distance", "distance from\ninitial weights"),
    ("l2_path_norm", r"$\ell_2$ path norm"),
    ("spectral_product", "product of\nspectral norms"),
    ("fisher_rao", "Fisher–Rao"),
    ("neyshabur_core", "core of\nNeyshabur 2018"),
    ("l1_path_norm", r"$\ell_1$ path norm"),
    ("frobenius_product", "product of\nFrobenius norms"),
    ("frobenius_bound", "Frobenius bound"),
    ("l2_norm", r"$\ell_2$ norm"),
    ("spectral_frobenius", "spectral ×\nFrobenius"),
    ("two_layer_spectral_frobenius", "the same for\ntwo layers"),
    ("spectral_two_one", "spectral × (2,1)"),
    ("inverse_squared_margin", "1 / margin$^2$"),
    ("parameters", "parameters"),
)
NUMBERS = (
    "numbers: agreement of a measure with the order of the gap, of means over seeds; 1 is all "
    "pairs of networks in that order, -1 all against it"
)
ROW, GAP_ROW, LARGE_ROW = 0.47, 0.8, 2.1


def values(groups: Sequence[trained.SeedRuns], key: str) -> pd.DataFrame:
    """One row a run: every measure at the end, C included, the seed, and the swept value in `x`."""
    frames = []
    for group in groups:
        measures = group.tables["measures"]
        last = measures[measures["step"] == measures.groupby("run")["step"].transform("max")]
        table = last.pivot(index="run", columns="measure", values="value")
        table[OURS] = group.tables["complexity"].groupby("run")["complexity"].last()
        two_layers = "neyshabur_bound" in table
        # Two layers have bounds of their own; for deeper networks a stand-in takes their place.
        table[NEYSHABUR] = table["neyshabur_bound" if two_layers else "spectral_frobenius"]
        seeds = pd.Series({record.run: record.seed for record in group.records})
        frames.append(table.assign(x=group.config[key], seed=seeds))
    return pd.concat(frames)


def draw(all_groups: Sequence[Sequence[trained.SeedRuns]]) -> Figure:
    figure, panels = drawing.subplots(
        2 + len(OTHERS),
        len(all_groups),
        figsize=(drawing.PAGE, LARGE_ROW + GAP_ROW + ROW * len(OTHERS) + 1.2),
        height_ratios=(LARGE_ROW, GAP_ROW, *len(OTHERS) * [ROW]),
        squeeze=False,
        sharex="col",
    )
    for column, groups in zip(panels.T, all_groups, strict=True):
        key, words = AXES[groups[0].config["name"]]
        table = values(groups, key)
        large(column[0], table)
        column[0].tick_params(labelleft=column[0] is panels[0, 0])
        gap(column[1], table)
        column[0].set_title(title(groups[0]))
        for axes, (measure, name) in zip(column[2:], OTHERS, strict=True):
            small(axes, table, measure)
            if axes in panels[:, 0]:
                axes.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=7)
        column[-1].set_xlabel(words)
        if key == "model.width":
            column[0].set_xscale("log", base=2)
    panels[0, 0].set_ylabel("value / largest value")
    panels[1, 0].set_ylabel("gap (error)", rotation=0, ha="right", va="center", fontsize=7)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(LARGE))
    drawing.letter_panels(panels[0])
    drawn = [group for groups in all_groups for group in groups]
    trained.note(figure, drawn, more=[NUMBERS, *errors(all_groups)])
    return figure


def errors(all_groups: Sequence[Sequence[trained.SeedRuns]]) -> Iterator[str]:
    """The standard error of the gaps of a column that has few test images."""
    for groups in all_groups:
        if images := groups[0].config["data.test_examples"]:
            gaps = values(groups, AXES[groups[0].config["name"]][0])[GAP]
            error = float(np.sqrt(gaps * (1 - gaps) / images).max())
            yield f"{groups[0].config['name']}: {images:,} test images, a gap is ± {error:.3f}"


def title(group: trained.SeedRuns) -> str:
    """The setting that a panel keeps fixed."""
    data = "MNIST" if group.config["data.name"] == "mnist" else "CIFAR-10"
    size = group.config["data.train_examples"]
    rate = f"rate {group.config['optim.lr']:g}"
    net = {
        "complexity_width": f"one layer, {rate}",
        "complexity_width_lr001": f"one layer, {rate}",
        "complexity_noise": f"{group.config.get('model.width')} units",
        "complexity_channels": "VGG19",
    }[group.config["name"]]
    return f"{net}{f', {size:,} of' if size else ''}\n{data}"


def large(axes: Axes, table: pd.DataFrame) -> None:
    for place, (measure, name, colour, marker) in enumerate(LARGE):
        curve(axes, table, measure, colour, marker=marker, label=name, linewidth=1.8, markersize=4)
        if measure != GAP:
            annotate(axes, table, measure, 1 - 0.1 * place, colour)
    axes.set_ylim(0, 1.05)
    if "neyshabur_bound" not in table:
        axes.text(0.03, 0.03, "Neyshabur 2018: spectral ×\nFrobenius norms stand in",
                  transform=axes.transAxes, fontsize=6.5, color=drawing.BLUE)  # fmt: skip


def gap(axes: Axes, table: pd.DataFrame) -> None:
    """In its own unit, so that it is seen where it changes little."""
    by_x = table.groupby("x")[GAP]
    axes.errorbar(by_x.mean().index, by_x.mean(), by_x.sem(), color=drawing.BLACK, linewidth=1.0)
    axes.tick_params(axis="y", labelsize=6)


def small(axes: Axes, table: pd.DataFrame, measure: str) -> None:
    """One of the other measures before the gap; an empty panel where it is not defined."""
    axes.set(ylim=(0, 1.1), yticks=[])
    if measure not in table:
        axes.text(0.5, 0.5, "two layers only", transform=axes.transAxes, fontsize=6,
                  ha="center", va="center", color="#7F7F7F")  # fmt: skip
        return
    curve(axes, table, GAP, "#B0B0B0", linewidth=1.0)
    curve(axes, table, measure, drawing.GREEN, marker="o", linewidth=1.0, markersize=2)
    annotate(axes, table, measure, 0.5, drawing.GREEN)


def curve(axes: Axes, table: pd.DataFrame, measure: str, colour: str, **style: object) -> None:
    """Mean over seeds, from the least to the most of them, in units of the largest network's."""
    by_x, scale = table.groupby("x")[measure], table[measure].max()
    mean = by_x.mean()
    if (by_x.size() > 1).any():
        axes.fill_between(
            mean.index,
            by_x.min() / scale,
            by_x.max() / scale,
            color=colour,
            alpha=0.15,
            linewidth=0,
        )
    axes.plot(mean.index, mean / scale, color=colour, **style)


def annotate(axes: Axes, table: pd.DataFrame, measure: str, height: float, colour: str) -> None:
    """The agreement of a measure with the gap, to the right of the panel."""
    number = f"{agreements(table)[measure]:.2f}".replace("-", "\u2212")
    axes.text(1.02, height, number, transform=axes.transAxes, color=colour, fontsize=6.5,
              va="center")  # fmt: skip


def agreements(table: pd.DataFrame) -> pd.Series:
    """The agreement of each measure with the order of the gaps, of means over seeds, as the ledger
    computes it."""
    names = [OURS, NEYSHABUR, *(name for name, _ in OTHERS if name in table)]
    means = table.groupby("x")[list(dict.fromkeys([*names, GAP]))].mean()
    return pd.Series({name: agreement(means[name], means[GAP]) for name in names}, dtype=float)


def make(options: drawing.Options) -> Figure:
    all_groups = trained.groups(options, TABLES, swept=SWEPT)
    for groups in all_groups:
        name = groups[0].config["name"]
        words = agreements(values(groups, AXES[name][0])).round(2)
        print(f"{name}: agreement with the order of the gap, 1 to -1\n{words.to_string()}")
    return draw(all_groups)


main = drawing.main(__file__, __doc__, EXPERIMENTS, make, __name__)
