"""Does the kernel align with the easy examples first? Along both regimes (ours).

CKA of the tangent kernel with the labels, class-centred, on 100 training examples of a group each,
against the loss by which regimes are compared: solid for alpha = 1, dashed for alpha = 100, mean
over seeds, least and most where there are several. Left, wrong labels among the digits; right,
tenths of the examples by their C-score, of which the first is the hardest.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.lazy.claims.group_alignment import NOISE, TITLES, family, looks
from ntkexp.papers.lazy.spurious_curves import at_level
from ntkexp.results.record import Record
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


def make(given: drawing.Options) -> Figure:
    tables = ["evals", "alignment"]
    found = [runs.chosen(name, given.runs, tables) for name in given.experiments]
    if not any(found):
        runs.stop(runs.missing(name, given.runs, tables) for name in given.experiments)
    by_panel: dict[str, list[Record]] = {}
    for record in (record for own in found for record in own):
        by_panel.setdefault(family(record), []).append(record)
    size = (drawing.PAGE if len(by_panel) > 1 else drawing.COLUMN * 1.3, 2.7)
    figure, panels = plt.subplots(1, len(by_panel), figsize=size, squeeze=False)
    for axes, (name, records) in zip(panels[0], by_panel.items(), strict=True):
        _panel(axes, records, NOISE_GROUPS if name == NOISE else TENTHS)
        of = "clean examples" if name == NOISE else "training examples"
        axes.set(xlabel=f"loss of {of}", ylabel="CKA", title=TITLES[name])
    if len(by_panel) > 1:
        drawing.letter_panels(panels[0])
    return figure


def _panel(axes: Axes, records: list[Record], groups: dict[str, tuple[str, str]]) -> None:
    by_alpha: dict[float, list[pd.DataFrame]] = {}
    for record in records:
        for alpha, _, frame in looks(record):
            by_alpha.setdefault(alpha, []).append(frame)
    every = [frame for frames in by_alpha.values() for frame in frames]
    high = min(float(frame["loss"].iloc[0]) for frame in every)
    for alpha, frames in by_alpha.items():
        low = max(float(frame["loss"].min()) for frame in frames)
        levels = np.linspace(high, low, POINTS)[1:]
        for group, (_, colour) in groups.items():
            values = np.stack([_along(frame, group, levels) for frame in frames])
            drawing.mean_and_band(axes, levels, values, colour=colour, linestyle=STYLES[alpha])
    axes.set(xlim=(high, 0))
    for told, colour in groups.values():
        axes.plot([], [], color=colour, label=told)
    for alpha, style in STYLES.items():
        if alpha in by_alpha:
            axes.plot([], [], color="black", linestyle=style, label=f"α = {alpha:g}")
    axes.legend(loc="upper left")


def _along(frame: pd.DataFrame, group: str, levels: np.ndarray) -> np.ndarray:
    progress, value = -frame["loss"].to_numpy(), frame[group].to_numpy()
    return np.array([at_level(progress, value, -level) for level in levels])


EXPERIMENTS = (
    *("lazy/group_alignment_mlp", "lazy/c_scores_mlp"),
    *("lazy/c_scores_vgg11", "lazy/c_scores_vgg11_lazy"),
)
main = drawing.main(__file__, __doc__, ",".join(EXPERIMENTS), make)

if __name__ == "__main__":
    sys.exit(main())
