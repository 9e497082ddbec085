"""Figure 3.3: the spectrum that is left when all weights are pushed by delta in random directions.

a: |f_k| over that of the trained network, clipped to [0, 1]. b: the same, not clipped, and how far
the complex coefficient moved, both at the delta whose mean ratio is nearest to a half.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ntkexp.papers.spectral.numbers import middle_delta
from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs

FIGURE = "3.3"


def make(options: drawing.Options) -> Figure:
    return draw(runs.one(options.experiment, options.runs, ["perturbed_spectrum"]))


def draw(record: Record) -> Figure:
    perturbed = record.tables["perturbed_spectrum"]
    figure, (left, right) = drawing.subplots(1, 2, figsize=(drawing.PAGE, 2.7))
    table = perturbed.pivot_table(index="delta", columns="k", values="magnitude", aggfunc="mean")
    image = left.imshow(
        np.clip(table.to_numpy(), 0, 1), origin="lower", aspect="auto", vmin=0, vmax=1
    )
    left.set_xticks(range(len(table.columns)), table.columns)
    left.set_yticks(range(len(table.index)), [f"{delta:g}" for delta in table.index])
    left.set(xlabel="frequency $k$", ylabel=r"perturbation $\delta$")
    figure.colorbar(image, ax=left, label=r"$|\tilde f_\theta| / |\tilde f_{\theta^*}|$")
    chosen = middle_delta(perturbed)
    for column, label, colour in (
        ("magnitude", r"$|\tilde f_\theta| / |\tilde f_{\theta^*}|$", drawing.BLUE),
        ("residual", r"$|\tilde f_\theta - \tilde f_{\theta^*}| / |\tilde f_{\theta^*}|$",
         drawing.VERMILION),
    ):  # fmt: skip
        values = chosen.pivot(index="seed", columns="k", values=column)
        drawing.mean_and_band(
            right, values.columns.to_numpy(), values.to_numpy(), colour=colour, label=label
        )
    right.set(xlabel="frequency $k$", ylim=(0, None), title=f"δ = {chosen['delta'].iloc[0]:g}")
    right.legend()
    drawing.letter_panels((left, right))
    seeds, drawn = perturbed["seed"].nunique(), record.config["probe.perturbed_spectrum.directions"]
    drawing.note(figure, [f"{drawn} directions, {seeds} networks; b: {drawing.band_label(seeds)}"])
    return figure


main = drawing.main(__file__, __doc__, "spectral/robustness", make, __name__)
