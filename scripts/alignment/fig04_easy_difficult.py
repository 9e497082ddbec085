"""Figure 4: alignment with the labels of easy and of difficult training examples.

Columns: what the difficult examples are. Left, 1,000 MNIST digits with random labels; right, 1,000
characters of KMNIST, from its official test split, which stands in for its training set. Rows:
accuracy; CKA of the kernel on equally many easy and difficult training examples, centred by class.
Bands: least to most of three seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.scripts import drawing, trained

FIGURE = "4"
EXPERIMENTS = "easy_difficult_noise,easy_difficult_kmnist"
TABLES = ("evals", "alignment")
SUBSETS = (("easy", drawing.BLUE), ("difficult", drawing.VERMILION))
KMNIST = "kmnist: from its official test split, which stands in for its training set"
KINDS = {"random_labels": "random labels", "kmnist": "KMNIST"}


def draw(groups: Sequence[trained.SeedRuns], width: float = 0.8 * drawing.PAGE) -> Figure:
    figure, panels = drawing.subplots(
        2, len(groups), figsize=(width, 4.0), sharex="col", sharey="row", squeeze=False
    )
    for column, group in zip(panels.T, groups, strict=True):
        accuracies(column[0], group.tables["evals"])
        alignments(column[1], group.tables["alignment"])
        trained.along_training(column, group)
        column[1].set_xlabel("iteration")
        column[0].set_title(group.name or made_of(group.config))
    panels[0, 0].set_ylabel("accuracy")
    panels[1, 0].set(ylabel="CKA", ylim=(0, None))
    handles, labels = panels[0, 0].get_legend_handles_labels()
    drawing.legend_above(figure, handles, labels)
    trained.note(figure, groups, more=[KMNIST] if any(_part_of_kmnist(g) for g in groups) else ())
    return figure


def made_of(config: Mapping[str, Any]) -> str:
    """The examples of which a network of the paper is trained."""
    easy, difficult = config["data.train_examples"], config["data.difficult_examples"]
    return f"{easy:,} MNIST + {difficult:,} {KINDS[config['data.difficult']]}"


def numbers(group: trained.SeedRuns) -> pd.DataFrame:
    whole = of_training_examples(group.tables["alignment"])
    return trained.values(whole[whole["subset"].isin([name for name, _ in SUBSETS])], cka="cka")


def _part_of_kmnist(group: trained.SeedRuns) -> bool:
    return any(remark.startswith("kmnist") for remark in group.remarks)


def accuracies(axes: Axes, evals: pd.DataFrame) -> None:
    for subset, colour in SUBSETS:
        part = evals[(evals["split"] == "train") & (evals["subset"] == subset)]
        trained.curve(axes, part, "accuracy", colour=colour, label=subset)
    test = evals[(evals["split"] == "test") & (evals["subset"] == "all")]
    trained.curve(
        axes, test, "accuracy", colour=drawing.BLACK, linestyle=trained.TEST, label="test"
    )
    axes.set_ylim(0, 1.02)


def of_training_examples(alignment: pd.DataFrame) -> pd.DataFrame:
    """The rows of the whole network's centred kernel on training examples."""
    return alignment[
        (alignment["layer"] == "total")
        & (alignment["centring"] == "class")
        & (alignment["split"] == "train")
    ]


def alignments(axes: Axes, alignment: pd.DataFrame) -> None:
    whole = of_training_examples(alignment)
    for subset, colour in SUBSETS:
        trained.curve(axes, whole[whole["subset"] == subset], "cka", colour=colour, label=subset)


main = drawing.main(
    __file__, __doc__, EXPERIMENTS, trained.Columns(TABLES, draw, numbers), __name__
)
