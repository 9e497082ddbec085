"""The figures of Experiment 7: a panel a run, from the smallest value to the largest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from ntkexp.papers.spectral.numbers import high_fitted
from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs
from ntkexp.scripts.spectral.heatmap import spectrum


def panels(
    titled: Iterable[tuple[str, Record]],
    draw: Callable[[Axes, Record], AxesImage],
    label: str,
    notes: Iterable[str] = (),
) -> Figure:
    """One row of panels; `titled` has their titles and runs."""
    chosen = list(titled)
    figure, row = drawing.subplots(
        1, len(chosen), figsize=(1.2 * drawing.PAGE, 2.3), sharey=True, squeeze=False
    )
    for axes, (title, record) in zip(row.flat, chosen, strict=True):
        image = draw(axes, record)
        axes.set_title(title)
        axes.label_outer()
    figure.colorbar(image, ax=row[0, -1], label=label)
    drawing.note(figure, notes)
    return figure


def spectra(axis: str, only: Mapping[str, object] = MappingProxyType({})) -> drawing.Make:
    """The spectrum along training, over the target's, of every run whose config has the values
    `only`, in the order of `axis`: medians, since most networks fit all or nothing. How many have
    fitted half stands in the titles."""
    word = axis.partition(".")[2]

    def chosen(*words: Any) -> list[Record]:
        found = runs.chosen(*words)
        return [run for run in found if all(run.config[key] == only[key] for key in only)]

    def make(options: drawing.Options) -> Figure:
        records = runs.chosen_of(options.experiments, options.runs, ["fourier"], chosen)
        titled = [
            (f"{word} {record.config[axis]:g} ({fitted_half(record)})", record)
            for record in sorted(records, key=lambda record: float(record.config[axis]))
        ]
        seeds = records[0].tables["fourier"]["seed"].nunique()
        note = f"median of {seeds} networks; in brackets: how many have fitted half of the spectrum"
        return panels(
            titled,
            lambda axes, record: spectrum(axes, record.tables["fourier"], over="median"),
            r"$|\tilde f_k| / |\tilde\lambda_k|$",
            [f"{note} above k = 50 in the end"],
        )

    return make


def fitted_half(record: Record) -> str:
    """3 of 5: the networks that have fitted half of the high frequencies in the end."""
    last = high_fitted(record.tables["fourier"]).iloc[-1]
    return f"{(last >= 0.5).sum()} of {len(last)}"
