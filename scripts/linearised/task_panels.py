"""Panels with a point an eigenfunction: networks and their linearisations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.linearised.tasks import (
    LEARNED,
    LINEAR,
    STANDARD,
    TITLES,
    TRAINED,
    each_task,
    of_seeds,
    pairs,
)
from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs

# In every figure of this paper networks are blue, linearisations vermilion.
LOOKS = {
    "network": ("network", drawing.BLUE, "o"),
    "linear": ("linearisation", drawing.VERMILION, "s"),
}
# Points of a network that begins otherwise than its neighbours: no line joins them.
APART = {
    "linearised/resnet18": (
        "P", "plus signs: residual branches off at the start, as in the released code"
    ),
}  # fmt: skip
# The text's order of networks.
ORDER = ("MLP", "LeNet", "ResNet18")
# The lines of CIFAR2 in the panels of an architecture.
CIFAR2 = "linearised/cifar2_"
PANEL = 2.6


def records_of(options: drawing.Options, tables: Sequence[str]) -> list[Record]:
    return runs.chosen_of(options.experiments, options.runs, tables)


def of_accuracies(options: drawing.Options) -> Figure:
    return accuracies(records_of(options, ("evals",)))


def of_movements(options: drawing.Options) -> Figure:
    return movements(records_of(options, ("evals", "distance")))


def accuracies(records: Sequence[Record]) -> Figure:
    """A panel a kind of network: test accuracy by j, and that on CIFAR2 as lines."""
    both = list(pairs([record for record in records if not record.experiment.startswith(CIFAR2)]))
    if not both:
        runs.stop(["no network with its linearisation on eigenfunctions of one kernel"])
    # Also the tasks of the one that the other has not.
    whole = of_seeds(records)
    table = each_task(
        pair._replace(network=whole[pair[:2]], linear=whole[pair.experiment + LINEAR, pair.seed])
        for pair in both
    )
    found = {pair.title for pair in both}
    titles = sorted(found, key=lambda title: ORDER.index(title.partition(",")[0]))
    size = (max(PANEL * len(titles) + 0.4, drawing.COLUMN), PANEL + 0.7)
    figure, grid = drawing.subplots(
        1, len(titles), figsize=size, squeeze=False, sharex=True, sharey=True
    )
    without = []
    for axes, title in zip(grid[0], titles, strict=True):
        tasks = table[table["experiment"].map(TITLES) == title]
        _curves(axes, tasks, "accuracy")
        net = title.partition(",")[0].lower()
        on_cifar2 = [r for r in records if r.experiment.removesuffix(LINEAR) == CIFAR2 + net]
        on = [r for r in records if r.experiment.removesuffix(LINEAR) == CIFAR2 + net + STANDARD]
        for record in on or on_cifar2:
            _baseline(axes, record)
        if not on_cifar2 and "MNIST" not in title:
            without.append(f"{title} on CIFAR2")
        axes.set(title=title, xlabel="index of the eigenfunction")
    grid[0][0].set_ylabel("test accuracy")
    # Column by column: tasks, then CIFAR2, whose names are long.
    entries = [axes.get_legend_handles_labels() for axes in grid[0]]
    handles = {label: h for both in entries for h, label in zip(*both, strict=True)}
    figure.legend([*handles.values()], [*handles], loc="outside upper center", ncols=2)
    drawing.note(figure, [*no_runs(without), *notes(records, table)])
    return figure


def _curves(axes: Axes, tasks: pd.DataFrame, column: str) -> None:
    """The first seed's points are joined; those of further seeds stand alone, and `APART`. Where
    both models have the same point, the network's is on the linearisation's."""
    first = tasks["seed"].min()
    for whose, (label, colour, _) in LOOKS.items():
        points = tasks[tasks["whose"] == whose]
        joined = points[(points["seed"] == first) & ~points["experiment"].isin(APART)]
        order = 2 if whose == "network" else 1
        axes.plot(joined["data.index"], joined[column], color=colour, label=label, zorder=order)
        for experiment, frame in points.groupby("experiment"):
            shape, _ = APART.get(str(experiment), ("", ""))
            draw_points(axes, frame.set_index("data.index"), column, whose, shape)
    axes.set_xscale("log")


def draw_points(axes: Axes, tasks: pd.DataFrame, column: str, whose: str, shape: str = "") -> None:
    """A point a task: open where the model ends above `TRAINED`, and a cross where it has not
    `LEARNED` its training labels."""
    _, colour, marker = LOOKS[whose]
    done, learned = tasks["train_loss"] <= TRAINED, tasks["train_accuracy"] >= LEARNED
    kinds = ((done, shape or marker, colour), (~done & learned, shape or marker, "none"),
             (~done & ~learned, shape or "x", "none"))  # fmt: skip
    for chosen, sign, face in kinds:
        if (frame := tasks[chosen]).empty:
            continue
        axes.plot(frame.index, frame[column], sign, color=colour, markerfacecolor=face,
                  markersize=7 if shape else 3 if whose == "network" else 4,
                  zorder=4 if whose == "network" else 3)  # fmt: skip


def _baseline(axes: Axes, record: Record) -> None:
    linear = record.experiment.endswith(LINEAR)
    label, colour, _ = LOOKS["linear" if linear else "network"]
    evals = record.tables["evals"]
    last = evals[(evals["split"] == "test") & (evals["subset"] == "all")].sort_values("step")
    axes.axhline(last["accuracy"].iloc[-1], color=colour, linestyle=":", label=f"{label}, CIFAR2")


def movements(records: Sequence[Record]) -> Figure:
    """Steps to the loss, distance and cosine distance of networks, by j."""
    table = each_task(pairs(records))
    columns = {
        "steps": f"steps to loss {TRAINED:g}",
        "distance": "|θ − θ₀|",
        "cosine_distance": "cosine distance",
    }
    figure, grid = drawing.subplots(1, 3, figsize=(drawing.PAGE, PANEL))
    for axes, (column, label) in zip(grid, columns.items(), strict=True):
        _curves(axes, table[table[column] < float("inf")], column)
        axes.set(xlabel="index of the eigenfunction", ylabel=label)
    grid[0].set_yscale("log")
    drawing.legend_above(figure, *grid[1].get_legend_handles_labels())
    drawing.letter_panels(grid)
    never = table[np.isinf(table["steps"])]["whose"].value_counts()
    counts = ", ".join(f"{count} {LOOKS[str(whose)][0]}s" for whose, count in never.items())
    lines = [f"never at a loss of {TRAINED:g}, so not in a: {counts}"] if counts else []
    drawing.note(figure, [*lines, *notes(records, table)])
    return figure


def no_runs(what: Sequence[str]) -> list[str]:
    """The line below a figure that names what it has no panel or line of."""
    return [f"no runs of {'; '.join(what)}"] if what else []


def notes(records: Sequence[Record], table: pd.DataFrame) -> list[str]:
    """The lines below a figure: the origin of the tasks, those not trained, the images."""
    origins: dict[str, dict[str, None]] = {}
    for record in records:
        if record.config["data.name"] == "eigenfunctions":
            title = TITLES[record.experiment.removesuffix(LINEAR)]
            origins.setdefault(origin(record), {})[title] = None
    lines = [
        f"{', '.join(titles)}: {words}" if len(origins) > 1 else words
        for words, titles in origins.items()
    ]
    lines += [words for name, (_, words) in APART.items() if (table["experiment"] == name).any()]
    return [*lines, *untrained(table), *images_of(records)]


def untrained(table: pd.DataFrame) -> list[str]:
    """Lines that say how many open points and crosses there are."""
    above, unlearned = table["train_loss"] > TRAINED, table["train_accuracy"] < LEARNED
    signs = {
        f"points that are not filled end above a training loss of {TRAINED:g}": above,
        f"crosses have less than {LEARNED:g} of the training labels right": above & unlearned,
    }
    lines = []
    for what, true in signs.items():
        counts = [
            f"{true[of_model].sum()} of {of_model.sum()} {name}s"
            for whose, (name, *_) in LOOKS.items()
            if true[of_model := table["whose"] == whose].any()
        ]
        lines += [f"{what}: {', '.join(counts)}"] * bool(counts)
    return lines


def origin(record: Record) -> str:
    """The images whose kernel makes a run's tasks, the run's length, and what it stands for."""
    train, test = (record.config.get(f"data.{split}_examples") for split in ("train", "test"))
    images = {"mnist": (60_000, 10_000), "cifar10": (50_000, 10_000)}[record.config["data.images"]]
    counts = [count or whole for count, whole in zip((train, test), images, strict=True)]
    steps = int(record.tables["evals"]["step"].max())
    instead = f"; stands in for {record.stands_in_for}" if record.stands_in_for else ""
    return (
        f"eigenfunctions of the kernel at initialisation on {sum(counts):,} images, {counts[0]:,} "
        f"of them for training; {steps:,} steps{instead}"
    )


def images_of(records: Sequence[Record]) -> list[str]:
    """The remarks of the runs on their images, each once."""
    return [*dict.fromkeys(remark for run in records for remark in run.life.get("remarks", ()))]
