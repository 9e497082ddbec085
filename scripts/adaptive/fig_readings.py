"""The claims of Figures 1 and 3 under other readings: initialisation, batch, pixels.

Dots: sign task less linear task, one a seed; above 0 the claim holds. Rings: pairs of which a
network has a training error above 1e-3, undecided; he and lecun are not there with images of unit
variance, for no network of theirs is left. a: cosine of the adapted kernel with the label kernel of
f - f_0. b: mean K_ii of the fifth of the points nearest to y = 0 over that of the farthest.
"""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.claims.claim import Case
from ntkexp.papers.adaptive.cases import by_pair, cosine, fifths, fitted_seeds
from ntkexp.papers.adaptive.claims.readings import cell
from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs

WEIGHTS = ("he", "lecun", "torch_default", "ntk_he")  # of model=bias_free_mlp, in its order
NEEDED = ("adapted_cosines", "adapted_fifths", "evals")
GAP = by_pair(cosine, first="average", second="residual")
NEAR = by_pair(fifths, statistic="diagonal")
RATE = 0.2  # the paper's 0.1, of squared errors that are halved
MARKS = {True: {"markersize": 3.0}, False: {"markersize": 3.0, "markerfacecolor": "none"}}


def make(options: drawing.Options) -> Figure:
    records = [
        record
        for experiment in options.experiments
        for record in sorted(runs.needed(experiment, options.runs, NEEDED), key=place_of)
    ]
    figure, (left, right) = drawing.subplots(1, 2, figsize=(drawing.PAGE, 3.2), sharey=True)
    for place, record in enumerate(records):
        dots(left, GAP([record]), record, place)
        near = [*NEAR([record])]
        dots(right, near, record, place)
        if not near:
            for axes in (left, right):
                axes.text(
                    0.02 * axes.get_xlim()[1],
                    place,
                    "diverged, one or both of each pair",
                    va="center",
                )
    left.set_yticks(range(len(records)), [reading(record) for record in records])
    left.invert_yaxis()
    left.set_xlabel("cosine, sign less linear")
    right.set_xlabel("$K_{ii}$ near 0 over far, sign less linear")
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


def dots(axes: Axes, cases: Iterable[Case], record: Record, place: float) -> None:
    fitted = fitted_seeds(record)
    for case in cases:
        axes.plot([case.value], [place], "o", color=drawing.BLUE, **MARKS[case.seed in fitted])


EXPERIMENTS = ("robustness", "full_batch", "unit_variance", "ntk_unit_variance")
main = drawing.main(
    __file__, __doc__, ",".join(f"adaptive/{name}" for name in EXPERIMENTS), make, __name__
)
