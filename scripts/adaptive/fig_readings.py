"""The claims of Figures 1 and 3 under other readings: initialisation, label kernel, batch, pixels.

Dots: sign task less linear task, one a seed; above 0 the claim holds. Rings: pairs of which a
network has a training error above 1e-3, undecided; he and lecun are not there with images of unit
variance, for all their networks diverged. a: cosine of the adapted kernel with the three label
kernels. b: mean K_ii of the fifth of the points nearest to y = 0 over that of the farthest.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.claims.claim import Case
from ntkexp.papers.adaptive.cases import cosine, differences, fifths, fitted_seeds
from ntkexp.papers.adaptive.claims.readings import LABELS, cell
from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs

WEIGHTS = ("he", "lecun", "torch_default", "ntk_he")  # of model=bias_free_mlp, in its order
COLOURS = (drawing.BLUE, drawing.VERMILION, drawing.GREEN)
NEEDED = ("adapted_cosines", "adapted_fifths", "evals")
RATE = 0.2  # the paper's 0.1, of squared errors that are halved
SPREAD = 0.25  # between the label kernels of one reading
MARKS = {True: {"markersize": 3.0}, False: {"markersize": 3.0, "markerfacecolor": "none"}}


def make(options: drawing.Options) -> Figure:
    records = [
        record
        for experiment in options.experiments
        for record in sorted(runs.needed(experiment, options.runs, NEEDED), key=place_of)
    ]
    figure, (left, right) = drawing.subplots(1, 2, figsize=(drawing.PAGE, 3.2), sharey=True)
    for place, record in enumerate(records):
        for index, label in enumerate(LABELS):
            gaps = differences("adapted_cosines", cosine("average", label))(record)
            colour, shift = COLOURS[index], SPREAD * (index - 1)
            dots(left, gaps, record, place + shift, colour, label if place == 0 else None)
        near = [*differences("adapted_fifths", fifths("diagonal"))(record)]
        dots(right, near, record, place, drawing.BLACK, None)
        if not near:
            for axes in (left, right):
                axes.text(0.02 * axes.get_xlim()[1], place, "all pairs diverged", va="center")
    left.set_yticks(range(len(records)), [reading(record) for record in records])
    left.invert_yaxis()
    left.set_xlabel("cosine, sign less linear")
    right.set_xlabel("$K_{ii}$ near 0 over far, sign less linear")
    left.legend(title="label kernel", title_fontsize=7, loc="lower right")
    for axes in (left, right):
        axes.axvline(0.0, color=drawing.BLACK, linewidth=0.6)
    drawing.letter_panels((left, right))
    return figure


def place_of(record: Record) -> int:
    """The place of a run by its weights, in the order in which the model names them."""
    return WEIGHTS.index(record.config["model.weights"])


def reading(record: Record) -> str:
    unit = record.config["data.pixels"] == "unit_norm"
    rate = f", rate {record.config['optim.lr'] / 2:g}" if record.config["optim.lr"] != RATE else ""
    return f"{cell(record)}{'' if unit else ', unit variance'}{rate}"


def dots(
    axes: Axes, cases: Iterable[Case], record: Record, place: float, colour: str, label: str | None
) -> None:
    fitted = fitted_seeds(record)
    for case in cases:
        mark = MARKS[case.seed in fitted]
        axes.plot([case.value], [place], "o", color=colour, label=label, **mark)
        label = None


EXPERIMENTS = ("robustness", "full_batch", "unit_variance", "ntk_unit_variance")
main = drawing.main(__file__, __doc__, ",".join(f"adaptive/{name}" for name in EXPERIMENTS), make)

if __name__ == "__main__":
    sys.exit(main())
