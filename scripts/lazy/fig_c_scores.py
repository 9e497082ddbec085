"""C-scores as estimated here: how often networks that did not see an image have it right.

a, the images by their score, of each set. b, share of right answers on images that were left out,
by the share of the images that were trained on: mean over networks, least and most. c, mean score
of the tenths of the images, in order of their scores, with the mean standard error of a score.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs

TABLES = ["c_scores", "c_score_nets"]
NAMES = {"mnist": "MNIST", "kmnist": "KMNIST", "cifar10": "CIFAR-10"}
BINS = np.linspace(0, 1, 41)
TENTHS = 10


def make(options: drawing.Options) -> Figure:
    chosen = [runs.chosen(name, options.runs, TABLES) for name in options.experiments]
    if not any(chosen):
        runs.stop(runs.missing(name, options.runs, TABLES) for name in options.experiments)
    return draw([records[0] for records in chosen if records])


def draw(records: list[Record]) -> Figure:
    figure, (left, middle, right) = drawing.subplots(1, 3, figsize=(drawing.PAGE, 2.5))
    for record, colour in zip(records, drawing.PALETTE, strict=False):
        name = NAMES[record.config["study.images"]]
        scores = record.tables["c_scores"].sort_values("score")
        label = f"{name}, {record.config['study.nets']} networks a ratio"
        left.hist(scores["score"], BINS, color=colour, histtype="step", label=label, density=True)
        accuracies = record.tables["c_score_nets"].groupby("ratio")["held_out_accuracy"]
        mean = accuracies.mean()
        middle.fill_between(mean.index, accuracies.min(), accuracies.max(), color=colour, alpha=0.2)
        middle.plot(mean.index, mean, color=colour, marker="o", markersize=2)
        tenths = np.array_split(np.arange(len(scores)), TENTHS)
        for column, style in (("score", "o-"), ("error", "x:")):
            heights = [scores[column].to_numpy()[tenth].mean() for tenth in tenths]
            right.plot(range(1, TENTHS + 1), heights, style, color=colour, markersize=3)
    left.set(xlabel="C-score", ylabel="density", yscale="log")
    middle.set(xlabel="share trained on", ylabel="accuracy, left out")
    right.set(xlabel="tenth", ylabel="mean", ylim=(0, 1.02), xticks=[1, 4, 7, 10])
    for style, label in (("o-", "score"), ("x:", "standard error")):
        right.plot([], [], style, color="black", markersize=3, label=label)
    right.legend(loc="center right", bbox_to_anchor=(1, 0.34))
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower left", ncols=2)
    drawing.letter_panels((left, middle, right))
    return figure


main = drawing.main(__file__, __doc__, "lazy/c_scores,lazy/c_scores_cifar", make, __name__)
