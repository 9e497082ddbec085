"""Figures 3, 11 and 12: alignment of the tangent kernel with the labels."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ntkexp.claims.claim import Claim, above, below, between, each_run, percent, times
from ntkexp.claims.curves import accuracy, best_step, cka, layer_cka, shown
from ntkexp.claims.record import Record
from ntkexp.claims.spectrum import ALL, CLEAN, NOISE50, PANELS

TABLES = ("alignment", "evals")
NETWORKS = {"mlp_mnist": "MLP, MNIST", CLEAN: "VGG19, CIFAR-10", "resnet18_cifar10": "ResNet18"}
# "A number of" layers is at least three; "the very top ones" are the last two.
SEVERAL = 3
TOP_LAYERS = 2
MEMORISATION = 0.5


def rise(record: Record, split: str, centring: str = "class") -> float:
    """The highest alignment over that at initialisation."""
    curve = cka(record, split, centring=centring)
    return float(curve.max() / curve.iloc[0])


def last_over_first(record: Record, centring: str) -> float:
    curve = cka(record, "test", centring=centring)
    return float(curve.iloc[-1] / curve.iloc[0])


def layer_peaks(record: Record) -> np.ndarray:
    """The highest alignment that each layer reaches, on training or test examples."""
    both = pd.concat([layer_cka(record, split) for split in ("train", "test")])
    return both.max().to_numpy()


def third_intermediate(record: Record) -> float:
    """The peak of the third best of the layers between the first and the top two."""
    intermediate = np.sort(layer_peaks(record)[1:-TOP_LAYERS])
    return float(intermediate[-SEVERAL]) if len(intermediate) >= SEVERAL else float("nan")


def top_over_intermediate(record: Record) -> float:
    peaks = layer_peaks(record)
    return float(peaks[-TOP_LAYERS:].mean() / peaks[1:-TOP_LAYERS].max())


def test_over_train_while_learning(record: Record) -> float:
    """Highest test alignment over highest train alignment, up to the best test accuracy."""
    until = best_step(record)
    highest = {}
    for split in ("train", "test"):
        curve = shown(cka(record, split))
        highest[split] = curve[curve.index <= max(until, curve.index[0])].max()
    return float(highest["test"] / highest["train"])


def peaks_apart(record: Record) -> float:
    """The factor in iterations between a layer's peak and that of test accuracy; the median."""
    peaks = layer_cka(record, "test").idxmax().to_numpy(np.float64)
    factors = np.abs(np.log((1 + peaks) / (1 + best_step(record))))
    return float(np.exp(np.median(factors)))


def train_before_memorising(record: Record) -> float:
    """The highest train alignment before half the training labels are fitted."""
    fit = accuracy(record, "train")
    memorised = fit.index[fit > MEMORISATION]
    curve = cka(record, "train")
    return float(curve[curve.index < memorised.min()].max() if len(memorised) else curve.max())


def what_is_left(record: Record) -> float:
    """The last test alignment over the highest."""
    curve = cka(record, "test")
    return float(curve.iloc[-1] / curve.max())


CLAIMS = (
    Claim(
        id="fig03-train-cka-rises",
        figure=3,
        says="The alignment with the labels rises during training, on training examples",
        paper="rises",
        number="highest CKA over that at initialisation, train",
        experiments=ALL,
        tables=TABLES,
        statistic=each_run(lambda record: rise(record, "train"), PANELS),
        holds=above(1.5),
        unit=times,
    ),
    Claim(
        id="fig03-test-cka-rises",
        figure=3,
        says="The alignment with the labels rises during training, on test examples",
        paper="rises",
        number="highest CKA over that at initialisation, test",
        experiments=ALL,
        tables=TABLES,
        statistic=each_run(lambda record: rise(record, "test"), PANELS),
        holds=above(1.5),
        unit=times,
    ),
    Claim(
        id="fig03-intermediate-layers",
        figure=3,
        says="A number of intermediate layers reach an alignment above 0.5",
        paper="> 0.5",
        number="highest CKA of the third best intermediate layer, train or test",
        experiments=ALL,
        tables=TABLES,
        statistic=each_run(third_intermediate, PANELS),
        holds=above(0.5),
    ),
    Claim(
        id="fig03-top-layers",
        figure=3,
        says="The alignment of the very top layers stays relatively low",
        paper="low",
        number="highest CKA of the last two layers, mean, over that of the best intermediate one",
        experiments=ALL,
        tables=TABLES,
        statistic=each_run(top_over_intermediate, PANELS),
        holds=below(0.75),
    ),
    Claim(
        id="fig03-test-above-train",
        figure=3,
        says="At high noise the alignment on test examples is far above that on training examples "
        "while the network learns",
        paper="much higher",
        number="highest test CKA over highest train CKA up to the best test accuracy",
        experiments=(NOISE50,),
        tables=TABLES,
        statistic=each_run(test_over_train_while_learning),
        holds=above(1.5),
        unit=times,
    ),
    Claim(
        id="fig03-peaks-together",
        figure=3,
        says="At high noise the layers' alignments peak when the test accuracy does",
        paper="together",
        number="factor in iterations between a layer's test peak and the accuracy's, median",
        experiments=(NOISE50,),
        tables=TABLES,
        statistic=each_run(peaks_apart),
        holds=below(np.sqrt(10)),
        unit=times,
    ),
    Claim(
        id="fig03-notebook-total",
        figure=3,
        says="Without noise the whole kernel's alignment reaches a quarter",
        paper="0.25 ± 0.05",
        number="highest CKA, train",
        experiments=(CLEAN,),
        tables=("alignment",),
        statistic=each_run(lambda record: float(cka(record, "train").max())),
        holds=between(0.2, 0.3),
        source="notebooks",
    ),
    Claim(
        id="fig03-notebook-train-low",
        figure=3,
        says="At 50 % noise the train alignment stays low until the labels are memorised",
        paper="< 0.06",
        number="highest train CKA before half the training labels are fitted",
        experiments=(NOISE50,),
        tables=TABLES,
        statistic=each_run(train_before_memorising),
        holds=below(0.06),
        source="notebooks",
    ),
    Claim(
        id="fig03-notebook-test-falls",
        figure=3,
        says="At 50 % noise the test alignment peaks and falls",
        paper="falls",
        number="last test CKA over the highest",
        experiments=(NOISE50,),
        tables=("alignment",),
        statistic=each_run(what_is_left),
        holds=below(0.8),
        unit=percent,
        source="notebooks",
    ),
    Claim(
        id="fig11-rise",
        figure=11,
        says="Alignment on held-out examples rises for three pairs of network and data",
        paper="rises",
        number="last over first CKA, test",
        experiments=tuple(NETWORKS),
        tables=("alignment",),
        statistic=each_run(lambda record: last_over_first(record, "class"), NETWORKS),
        holds=above(1.0),
        unit=times,
    ),
    Claim(
        id="fig12-rise",
        figure=12,
        says="Uncentred alignment on held-out examples rises for the three as well",
        paper="rises",
        number="last over first uncentred CKA, test",
        experiments=tuple(NETWORKS),
        tables=("alignment",),
        statistic=each_run(lambda record: last_over_first(record, "none"), NETWORKS),
        holds=above(1.0),
        unit=times,
    ),
)
