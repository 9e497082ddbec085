"""Does the kernel align with the easy examples first? Along both regimes (ours).

CKA of the tangent kernel with the labels, class-centred, on 100 training examples of a group each,
against the loss by which regimes are compared: solid for alpha = 1, dashed for alpha = 100, mean
over seeds, least and most where there are several. Left, wrong labels among the digits; right,
tenths of the examples by their C-score, of which the first is the hardest.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.lazy.claims.group_alignment import NOISE, TITLES, looks
from ntkexp.papers.lazy.curves import at_losses, family
from ntkexp.results.record import FULL_BASE, Record
from ntkexp.scripts import drawing, runs

FIGURE = "ours"
STYLES = {1.0: "-", 100.0: "--"}
NOISE_GROUPS = {
    "intact": ("right labels", drawing.BLUE),
    "noisy": ("wrong labels", drawing.VERMILION),
}
TENTHS = {
    name: (f"tenth {name.removeprefix('decile')}", colour)
    for name, colour in zip(
        ("decile1", "decile2", "decile5", "decile10"), drawing.shades(4), strict=True
    )
}
POINTS = 80
LEGEND = 1.45  # room for it above the curves


def make(options: drawing.Options) -> Figure:
    by_panel: dict[str, list[Record]] = {}
    for record in runs.chosen_of(options.experiments, options.runs, ["evals", "alignment"]):
        by_panel.setdefault(family(record.experiment), []).append(record)
    size = (drawing.PAGE if len(by_panel) > 1 else drawing.COLUMN * 1.3, 2.7)
    figure, panels = drawing.subplots(1, len(by_panel), figsize=size, squeeze=False)
    labelled: set[str] = set()
    for axes, (name, records) in zip(panels[0], by_panel.items(), strict=True):
        groups = NOISE_GROUPS if name == NOISE else TENTHS
        _panel(axes, records, groups, legend=not labelled & {*groups})
        labelled |= {*groups}
        words = "clean examples" if name == NOISE else "training examples"
        axes.set(xlabel=f"loss of {words}", ylabel="CKA", title=TITLES[name])
    if len(by_panel) > 1:
        drawing.letter_panels(panels[0])
    drawing.note(figure, [_trained(TITLES[name], records) for name, records in by_panel.items()])
    return figure


def _trained(title: str, records: list[Record]) -> str:
    """The seeds of a panel, the size of its network and the length of its training, in words."""
    last_looks = sorted(
        (alpha, seed, int(frame["step"].max()))
        for record in records
        for alpha, seed, frame in looks(record)
    )
    seeds = len({seed for _, seed, _ in last_looks})
    ends = ", ".join(
        f"{max(step for a, _, step in last_looks if a == alpha):,} iterations at α = {alpha:g}"
        for alpha in dict.fromkeys(alpha for alpha, *_ in last_looks)
    )
    channels = records[0].config.get("model.base")
    narrow = f", {channels} channels for {FULL_BASE}" if channels else ""
    return f"{title}{narrow}: {seeds} seed{'' if seeds == 1 else 's'}, {ends}"


def _panel(
    axes: Axes, records: list[Record], groups: dict[str, tuple[str, str]], *, legend: bool
) -> None:
    by_alpha: dict[float, list[pd.DataFrame]] = {}
    for record in records:
        for alpha, _, frame in looks(record):
            by_alpha.setdefault(alpha, []).append(frame)
    all_frames = [frame for frames in by_alpha.values() for frame in frames]
    high = min(float(frame["loss"].iloc[0]) for frame in all_frames)
    for alpha, frames in by_alpha.items():
        low = max(float(frame["loss"].min()) for frame in frames)
        levels = np.linspace(high, low, POINTS)[1:]
        for group, (_, colour) in groups.items():
            values = np.stack([at_losses(frame, group, "loss", levels) for frame in frames])
            drawing.mean_and_band(axes, levels, values, colour=colour, linestyle=STYLES[alpha])
    top = max(float(frame[group].max()) for frame in all_frames for group in groups)
    axes.set(xlim=(high, 0), ylim=(0, LEGEND * top if legend else None))
    for label, colour in groups.values():
        axes.plot([], [], color=colour, label=label)
    for alpha, style in STYLES.items():
        if alpha in by_alpha:
            axes.plot([], [], color="black", linestyle=style, label=f"α = {alpha:g}")
    if legend:
        axes.legend(loc="upper left")


EXPERIMENTS = (
    *("lazy/group_alignment_mlp", "lazy/c_scores_mlp"),
    *("lazy/c_scores_vgg11", "lazy/c_scores_vgg11_lazy"),
)
main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), make, __name__)
