"""The main paper's width beside a quarter of its channels, along training.

A question of ours: VGG19 of the paper's own size and the narrow one of Figures 2 and 3. Rows:
experiments. Columns: accuracy; effective rank and T_40 of the training kernel; its largest
eigenvalue over the initial one; CKA of the whole kernel with the labels. Solid lines: training
examples, dashed lines: test examples; ticks at the left edge: iteration 0. Kernels are centred by
class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.results.numbers.curves import centred
from ntkexp.results.record import FULL_BASE, Record
from ntkexp.scripts import drawing, runs, trained
from ntkexp.scripts.alignment import fig03_alignment
from ntkexp.scripts.alignment.fig02_spectrum import derived

EXPERIMENTS = "vgg19_clean,vgg19_noise20,vgg19_noise50"
TABLES = ("evals", "spectrum", "alignment")
T_K = 40
COLOURS = (drawing.BLACK, drawing.VERMILION)
# Channels of the first layer -> the runs of that width.
Widths = Mapping[int, trained.SeedRuns]


def is_full(record: Record) -> bool:
    return bool(record.config.get("model.base", FULL_BASE) == FULL_BASE)


def is_narrow(record: Record) -> bool:
    return not is_full(record)


COUNTS = (is_full, is_narrow)


def widths(options: drawing.Options, experiment: str) -> Widths:
    """The runs of both widths, empty unless there are both."""
    records = [runs.chosen(experiment, options.runs, TABLES, counts=counts) for counts in COUNTS]
    if not all(records):
        return {}
    groups = [trained.SeedRuns(tuple(of), runs.joined(of, TABLES)) for of in records]
    return {group.channels or FULL_BASE: group for group in groups}


def figures(options: drawing.Options) -> Figure:
    columns = [widths(options, name) for name in options.experiments]
    if not any(columns):
        runs.stop(
            f"{name}: no runs of {FULL_BASE} channels and of fewer: ntkexp train +exp={name} "
            f"optim.epochs=6, and with model.base=16"
            for name in options.experiments
        )
    return draw([column for column in columns if column])


def draw(columns: Sequence[Widths]) -> Figure:
    count = len(columns)
    figure, panels = drawing.subplots(
        count, 5, figsize=(drawing.PAGE, 2.2 * count + 0.4), sharey="col", squeeze=False
    )
    for row, of_width in zip(panels, columns, strict=True):
        for (channels, group), colour in zip(of_width.items(), COLOURS, strict=True):
            curves(row, channels, group, colour)
        trained.along_training(row, max(of_width.values(), key=_last))
        row[0].set_ylabel(of_width[FULL_BASE].heading)
    names = ("accuracy", "effective rank", f"$T_{{{T_K}}}$", "$λ_1$ over initial", "CKA")
    for axes, last, name in zip(panels[0], panels[-1], names, strict=True):
        axes.set_title(name)
        last.set_xlabel("iteration")
    panels[0, 3].set_yscale("log")
    for axes in panels[0, [0, 1, 2, 4]]:
        axes.set_ylim(bottom=0)
    drawing.legend_above(figure, *panels[0, 0].get_legend_handles_labels())
    lines = [
        f"{group.label}, {channels} channels: {trained.ends(group.records)}"
        for of_width in columns
        for channels, group in of_width.items()
    ]
    wide = columns[0][FULL_BASE]
    ticks = f"{trained.CENTRED}; ticks at the left edge: iteration 0"
    drawing.note(figure, [wide.training, *lines, *wide.remarks, ticks])
    return figure


def _last(group: trained.SeedRuns) -> int:
    return int(group.tables["evals"]["step"].max())


def curves(row: Sequence[Axes], channels: int, group: trained.SeedRuns, colour: str) -> None:
    evals = group.tables["evals"]
    cka = fig03_alignment.centred(group)
    for split, style in (("train", trained.TRAIN), ("test", trained.TEST)):
        rows = evals[(evals["split"] == split) & (evals["subset"] == "all")]
        label = f"{channels} channels, {split}"
        trained.curve(row[0], rows, "accuracy", colour=colour, linestyle=style, label=label)
        rows = cka[(cka["layer"] == "total") & (cka["split"] == split)]
        trained.curve(row[4], rows, "cka", colour=colour, linestyle=style)
    spectrum = derived(centred(group.tables["spectrum"]))
    train = spectrum[spectrum["split"] == "train"]
    train = train.assign(t_k=[ratios[T_K - 1] for ratios in train["ratios"]], grown=_grown(train))
    for axes, value in zip(row[1:4], ("effective_rank", "t_k", "grown"), strict=True):
        trained.curve(axes, train, value, colour=colour)
        trained.start(axes, train, value, colour)


def _grown(train: pd.DataFrame) -> pd.Series:
    """The largest eigenvalue over that of its run at initialisation."""
    ordered = train.sort_values("step")
    return train["max"] / ordered.groupby("run")["max"].transform("first")


main = drawing.main(__file__, __doc__, EXPERIMENTS, figures, __name__)
