"""How high the frequencies in the plane are that a signal on a curve takes, ours to section 4.

Radial spectra of what has fitted Experiment 5's signal to a loss of 0.5 on curves of L petals:
networks; then linear functions of random Fourier features, of one scale each. Behind L the
mean frequency, Σ k ζ / Σ ζ. Maps of [-1.6, 1.6]² in a Hann window, means over seeds.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.papers.spectral.claims.plane import FEATURES, NETWORKS, L, frequencies
from ntkexp.scripts import drawing, runs


def make(options: drawing.Options) -> Figure:
    records = runs.chosen_of(options.experiments, options.runs, ["radial_spectrum"])
    networks = [record for record in records if record.experiment == NETWORKS]
    features = [record for record in records if record.experiment == FEATURES]
    features.sort(key=lambda record: record.config["model.scale"])
    drawn = [*networks[:1], *features]
    figure, row = drawing.subplots(
        1, len(drawn), figsize=(drawing.PAGE, 2.4), sharex=True, sharey=True, squeeze=False
    )
    for axes, record in zip(row[0], drawn, strict=True):
        table, means = (
            record.tables["radial_spectrum"],
            frequencies(record.tables["radial_spectrum"]),
        )
        for petals, colour in zip(means.index, drawing.PALETTE, strict=False):
            zeta = table[table[L] == petals].groupby("k")["zeta"].mean()
            axes.plot(zeta.index, zeta, color=colour, linewidth=0.9,
                      label=f"$L = {petals}$: {means[petals]:.0f}")  # fmt: skip
        scale = record.config.get("model.scale")
        axes.set(xscale="log", yscale="log", xlabel="k, periods over 3.2",
                 title="networks" if scale is None else f"features of scale {scale:g}")  # fmt: skip
        axes.legend(fontsize=6)
    row[0][0].set(ylabel="ζ(k)", ylim=(1e-4, None))
    drawing.letter_panels(row[0])
    drawing.note(figure, [] if networks else ["no runs of networks"])
    return figure


main = drawing.main(__file__, __doc__, f"{NETWORKS},{FEATURES}", make, __name__)
