"""Table 5.1: triples of digits that generators draw, of 1,000, and KL of samples and data.

Dots are runs, of a quarter of the channels after 32,000 iterations; rings are the text's numbers.
Dashed: 26,000 samples of the data themselves.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.papers.information.claims.stacked import BETA, last_look
from ntkexp.scripts import drawing, runs
from ntkexp.theory.information.stacked import MODES

FIGURE = "table 5.1"
# row -> beta of its runs, and the text's modes and KL
ROWS = {
    "DCGAN": (0.0, 99.0, 3.40),
    "ALI": (None, 16.0, 5.40),
    "Unrolled GAN": (None, 48.7, 4.32),
    "VEEGAN": (None, 150.0, 2.95),
    "PacGAN": (None, 1000.0, 0.06),
    "GAN + MINE": (1.0, 1000.0, 0.05),
}
SAMPLES = 26_000


def make(options: drawing.Options) -> Figure:
    records = runs.chosen_of(options.experiments, options.runs, ("stacked_looks",))
    figure, (modes, distance) = drawing.subplots(
        1, 2, figsize=(drawing.PAGE, 2.2), sharey=True
    )  # fmt: skip
    for place, (beta, *text) in enumerate(ROWS.values()):
        looks = [last_look(record) for record in records if record.config[BETA] == beta]
        for axes, column, quoted in zip(
            (modes, distance), ("captured", "divergence"), text, strict=True
        ):
            axes.plot(quoted, place, "o", color=drawing.BLACK, markerfacecolor="none")
            axes.plot([look[column] for look in looks], [place] * len(looks), ".",
                      color=drawing.VERMILION)  # fmt: skip
    modes.axvline(MODES, color="0.6", linestyle="--", linewidth=0.8)
    distance.axvline((MODES - 1) / (2 * SAMPLES), color="0.6", linestyle="--", linewidth=0.8)
    modes.set_yticks(range(len(ROWS)), [*ROWS])
    modes.invert_yaxis()
    modes.set(xlabel="triples of digits", xlim=(0, 1050))
    distance.set(xlabel="KL (nats)")
    return figure


main = drawing.main(__file__, __doc__, "information/stacked", make, __name__)
