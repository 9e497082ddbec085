"""When does hasty begin? Labels learned from zero with the kernel of some epoch (ours).

4,000 digits on characters, MLP 3 x 256. The kernel is that of the network (black, α = 1) after 0,
1, 3, 10 and 30 epochs, and stays as it is. a, accuracy on balanced test images without the
attribute; b, loss on balanced training images without it; both against the mean training loss, of
the first seed. c, the loss of b where the mean training loss first falls to .2 and to .1: a dot a
seed, the network's on the left; a run that does not come there, or is there within five updates,
has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ntkexp.papers.lazy.curves import at_losses
from ntkexp.papers.lazy.spurious_curves import curves
from ntkexp.results.record import Record
from ntkexp.scripts import drawing, runs

STEPS_AN_EPOCH = 40
LEVELS = {0.2: drawing.BLUE, 0.1: drawing.VERMILION}
NETWORK, KERNELS = "lazy/spurious_plain", "lazy/kernel_after"
# (epoch, seed) -> looks with accuracies and losses; the network's epoch is None.
Looks = Mapping[tuple[int | None, int], pd.DataFrame]


def make(options: drawing.Options) -> Figure:
    looks = {
        (epoch_of(record), record.seed): looks_of(record)
        for name in options.experiments
        for record in runs.needed(name, options.runs, ["evals"])
    }
    return draw(looks)


def epoch_of(record: Record) -> int | None:
    """The epoch of the kernel: weights.120.pt are those after 3 epochs of 40 minibatches."""
    if record.experiment == NETWORK:
        return None
    return int(str(record.config["weights.file"]).split(".")[1]) // STEPS_AN_EPOCH


def looks_of(record: Record) -> pd.DataFrame:
    accuracy, loss = curves([record]), curves([record], "loss")
    return accuracy.merge(loss, on="step", suffixes=("", "_loss")).sort_values("step")


def draw(looks: Looks) -> Figure:
    figure, (left, middle, right) = drawing.subplots(1, 3, figsize=(drawing.PAGE, 2.5))
    epochs = sorted({epoch for epoch, _ in looks if epoch is not None})
    shades = dict(zip(epochs, drawing.shades(len(epochs)), strict=True))
    first = min(seed for _, seed in looks)
    for (epoch, seed), frame in sorted(looks.items(), key=lambda item: item[0][0] or 0):
        if seed == first:
            colour = drawing.BLACK if epoch is None else shades[epoch]
            label = "network" if epoch is None else f"{epoch}"
            for axes, column in ((left, "test_without"), (middle, "train_without_loss")):
                axes.plot(
                    frame["train_all_loss"],
                    frame[column],
                    color=colour,
                    linewidth=1.0,
                    label=label,
                )
    for axes, words in ((left, "test accuracy"), (middle, "training loss")):
        axes.set(xlabel="mean training loss", ylabel=f"{words} without attribute")
        axes.set(xscale="log", xlim=(1, 0.005))
    middle.legend(title="kernel of epoch", loc="best")
    _levels(right, looks, epochs)
    drawing.letter_panels((left, middle, right))
    return figure


def _levels(axes: Axes, looks: Looks, epochs: Sequence[int]) -> None:
    """Epochs in equal distances, the network to their left."""
    places: dict[int | None, int] = {None: 0} | {epoch: i for i, epoch in enumerate(epochs, 1)}
    for level, colour in LEVELS.items():
        for (epoch, _), frame in looks.items():
            axes.plot([places[epoch]], [at_loss(frame, level)], "o", color=colour, markersize=3)
        axes.plot([], [], "o", color=colour, markersize=3, label=f"mean loss {level:g}")
    axes.set_xticks(list(places.values()), ["net", *map(str, epochs)])
    axes.set(xlabel="kernel of epoch", ylabel="training loss without attribute")
    axes.legend(loc="best")


def at_loss(frame: pd.DataFrame, level: float) -> float:
    """Training loss without the attribute where the mean one first comes down to `level`; not a
    number if that is before the first look after the start."""
    frame = frame[frame["step"] > 0]
    return float(at_losses(frame, "train_without_loss", "train_all_loss", [level])[0])


main = drawing.main(__file__, __doc__, f"{NETWORK},{KERNELS}", make, __name__)
