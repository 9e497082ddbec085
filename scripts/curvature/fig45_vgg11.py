"""Figure 4.5: a VGG11 of 16 channels on CIFAR-10 by KFAC, EKFAC, EKFAC-ra and SGD.

a, training loss over epochs, b, over processor time (of updates alone, one thread, measured apart
with all in turns), c, held-out error over epochs; all from the first look on. Factors and basis are
computed every 500 updates. Batches have 500 images, those of SGD and of one KFAC 200. The thesis
takes the best rate and damping at every epoch; here one point of each method is trained, the best
of a short search.
"""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from ntkexp.papers.curvature.claims.vgg11 import IMAGES, METHODS, SECONDS
from ntkexp.scripts import drawing, runs
from ntkexp.scripts.curvature.loss_panels import COLOURS, axis_of

FIGURE = "4.5"


def make(options: drawing.Options) -> Figure:
    return draw(options, METHODS)


def draw(options: drawing.Options, named: Mapping[str, str]) -> Figure:
    *methods, seconds = options.experiments
    trained = runs.chosen_of(methods, options.runs, ["evals"])
    (timing, *_) = runs.needed(seconds, options.runs, ["update_seconds"])
    figure, axes = drawing.subplots(1, 3, figsize=(drawing.PAGE, 2.6))
    for method, experiment in named.items():
        style = {"color": COLOURS[method], "label": method}
        for record in trained:
            if record.experiment != experiment:
                continue
            evals = record.tables["evals"]
            evals = evals[evals["subset"] == "all"].sort_values("step")
            train, test = (evals[evals["split"] == split][1:] for split in ("train", "test"))
            epochs = axis_of(record, IMAGES)[1:]
            minutes = axis_of(record, IMAGES, timing.tables["update_seconds"])[1:]
            axes[0].plot(epochs, train["loss"], **style)
            axes[1].plot(minutes, train["loss"], **style)
            axes[2].plot(epochs, 100 * (1 - test["accuracy"]), **style)
    for panel, over in zip(axes, ("epoch", "minutes of a core", "epoch"), strict=True):
        panel.set(xlabel=over, ylabel="training loss", yscale="log")
    axes[2].set(ylabel="held-out error (%)", yscale="linear")
    drawing.legend_above(figure, *axes[0].get_legend_handles_labels())
    drawing.letter_panels([*axes])
    return figure


main = drawing.main(__file__, __doc__, ",".join([*METHODS.values(), SECONDS]), make, __name__)
