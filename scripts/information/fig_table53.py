"""Table 5.3: test errors of digits through a bottleneck, with averaged weights at the end.

Dots are runs, bars their means, rings the text's.
"""

from __future__ import annotations

from matplotlib.figure import Figure

from ntkexp.papers.information.claims.bottleneck import RUNS, last_error
from ntkexp.scripts import drawing, runs

FIGURE = "table 5.3"
# variant -> its row and the text's error in per cent
ROWS = {
    "baseline": ("Baseline", 1.38),
    "noise": ("noise on the image", None),
    "dropout": ("Dropout", 1.34),
    "confidence": ("Confidence penalty", 1.36),
    "smoothing": ("Label smoothing", 1.40),
    "dvb": ("DVB", 1.13),
    "dvb_noise": ("DVB + noise", 1.06),
    "mine_gaussian": ("MINE (Gaussian)", 1.11),
    "mine_propagated": ("MINE (propagated)", 1.10),
    "mine_additive": ("MINE (additive)", 1.01),
}


def make(options: drawing.Options) -> Figure:
    records = runs.chosen_of(options.experiments, options.runs, ("bottleneck",))
    figure, axes = drawing.subplots(figsize=(drawing.COLUMN, 2.6))
    for place, (variant, (_, text)) in enumerate(ROWS.items()):
        errors = [
            100 * last_error(record.tables["bottleneck"])
            for record in records
            if record.config["study.variant"] == variant
        ]
        if errors:
            axes.barh(place, sum(errors) / len(errors), color=drawing.SKY)
            axes.plot(errors, [place] * len(errors), ".", color=drawing.BLUE)
        if text is not None:
            axes.plot(text, place, "o", color=drawing.BLACK, markerfacecolor="none")
    axes.set_yticks(range(len(ROWS)), [label for label, _ in ROWS.values()])
    axes.invert_yaxis()
    axes.set(xlabel="test error (%)")
    return figure


main = drawing.main(__file__, __doc__, ",".join(RUNS), make, __name__)
