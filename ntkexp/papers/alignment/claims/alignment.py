"""Figures 3, 11 and 12: alignment of the tangent kernel with the labels."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ntkexp.claims.claim import (
    PAPER_AND_RELEASED,
    Claim,
    Section,
    above,
    below,
    sharing,
    times,
)
from ntkexp.claims.curves import rank_correlation, shown
from ntkexp.claims.horizon import FITTED_TRAINING, OVERFITTED, Horizon, either, iteration
from ntkexp.claims.statistics import by_run
from ntkexp.papers.alignment.claims.high_noise import BESIDE, HALF_A_DECADE, memory
from ntkexp.papers.alignment.claims.spectrum import ALL, CLEAN, EARLY, NOISE50, PANELS
from ntkexp.results.numbers.curves import cka, has_centring, layer_cka
from ntkexp.results.numbers.evals import best_step
from ntkexp.results.select import has_fitted

TABLES = ("alignment", "evals")
NETWORKS = {"mlp_mnist": "MLP, MNIST", CLEAN: "VGG19, CIFAR-10", "resnet18_cifar10": "ResNet18"}
# "A number of" layers is at least three; "the very top ones" are the last two.
SEVERAL = 3
TOP_LAYERS = 2
# "Much higher": half as high again.
MUCH_HIGHER = 1.5
# Where the notebooks' layers come to .5; a net that has fitted does not go on.
LATE = either(iteration(100_000), FITTED_TRAINING)


def rise(alignment: pd.DataFrame, split: str) -> float:
    """The highest alignment over that at initialisation."""
    curve = cka(alignment, split)
    return float(curve.max() / curve.iloc[0])


def last_over_first(alignment: pd.DataFrame, split: str, centring: str) -> float:
    curve = cka(alignment, split, centring=centring)
    return float(curve.iloc[-1] / curve.iloc[0])


def layer_peaks(alignment: pd.DataFrame) -> np.ndarray:
    """The highest alignment that each layer reaches, on training or test examples."""
    both = pd.concat([layer_cka(alignment, split) for split in ("train", "test")])
    return both.max().to_numpy()


def third_intermediate(alignment: pd.DataFrame) -> float:
    """The peak of the third best of the layers between the first and the top two."""
    intermediate = np.sort(layer_peaks(alignment)[1:-TOP_LAYERS])
    return float(intermediate[-SEVERAL]) if len(intermediate) >= SEVERAL else float("nan")


def top_over_intermediate(alignment: pd.DataFrame) -> float:
    peaks = layer_peaks(alignment)
    return float(peaks[-TOP_LAYERS:].mean() / peaks[1:-TOP_LAYERS].max())


def order_of_layers(alignment: pd.DataFrame) -> float:
    """The rank correlation of a layer's highest alignment with its depth."""
    peaks = layer_peaks(alignment)
    return rank_correlation(np.arange(len(peaks)), peaks)


def test_over_train_while_learning(alignment: pd.DataFrame, evals: pd.DataFrame) -> float:
    """Highest test alignment over highest train alignment, up to the best test accuracy."""
    until = best_step(evals)
    highest = {}
    for split in ("train", "test"):
        curve = shown(cka(alignment, split))
        highest[split] = curve[curve.index <= max(until, curve.index[0])].max()
    return float(highest["test"] / highest["train"])


def clean_over_given_while_learning(alignment: pd.DataFrame, evals: pd.DataFrame) -> float:
    """Highest alignment with the clean labels of the training images over the highest with those
    that the network is given, up to the best test accuracy."""
    until = best_step(evals)
    clean, given = (shown(cka(alignment, "train", centring=kind)) for kind in ("clean", "class"))
    return float(clean[clean.index <= until].max() / given[given.index <= until].max())


def given_over_clean_at_the_end(alignment: pd.DataFrame) -> float:
    given, clean = (cka(alignment, "train", centring=kind) for kind in ("class", "clean"))
    return float(given.iloc[-1] / clean.iloc[-1])


def peaks_apart(alignment: pd.DataFrame, evals: pd.DataFrame) -> float:
    """The factor in iterations between a layer's peak and that of test accuracy; the median."""
    peaks = layer_cka(alignment, "test").idxmax().to_numpy(np.float64)
    factors = np.abs(np.log((1 + peaks) / (1 + best_step(evals))))
    return float(np.exp(np.median(factors)))


def with_centring(kind: str, horizon: Horizon) -> Horizon:
    """The horizon, asked only of runs whose probe measured this kind of alignment."""
    return Horizon(
        horizon.description,
        lambda record: (
            "alignment" in record.tables
            and has_centring(record.tables["alignment"], kind)
            and horizon(record)
        ),
        horizon.iterations,
    )


claim = sharing(
    "fig03-",
    figure="3",
    experiments=ALL,
    tables=TABLES,
    horizon=iteration(EARLY),
    recipes=PAPER_AND_RELEASED,
)


def _uncentred(kind: str, says: str) -> Claim:
    return Claim(
        id=f"fig12-rise-{kind}",
        figure="12",
        says=says,
        paper="rises",
        number="last over first alignment, test",
        experiments=tuple(NETWORKS),
        tables=("alignment",),
        statistic=by_run(last_over_first, NETWORKS, split="test", centring=kind),
        holds=above(1.0),
        threshold="the sign of the text's word; which of the two the paper draws it does not say",
        horizon=with_centring(kind, iteration(EARLY)),
        seen="one claim, with neither centred, became two; from iteration 10 on, where the figure "
        "begins, it holds with neither centred for recipe=paper and is partly for the other",
        unit=times,
        recipes=PAPER_AND_RELEASED,
    )


CLAIMS = (
    claim(
        "train-cka-rises",
        says="The alignment with the labels rises during training, on training examples",
        paper="rises",
        number="highest CKA over that at initialisation, train",
        statistic=by_run(rise, PANELS, split="train"),
        also=("the last CKA", by_run(last_over_first, PANELS, split="train", centring="class")),
        holds=above(1.5),
        threshold="ours: by half, for `increasingly high`; probes of a batch differ by less",
        unit=times,
    ),
    claim(
        "test-cka-rises",
        says="The alignment with the labels rises during training, on test examples",
        paper="rises",
        number="highest CKA over that at initialisation, test",
        statistic=by_run(rise, PANELS, split="test"),
        also=("the last CKA", by_run(last_over_first, PANELS, split="test", centring="class")),
        holds=above(1.5),
        threshold="ours: by half, for `increasingly high`; probes of a batch differ by less",
        unit=times,
    ),
    claim(
        "intermediate-layers",
        says="A number of intermediate layers reach an alignment above 0.5",
        paper="> 0.5",
        number="highest CKA of the third best intermediate layer, train or test",
        statistic=by_run(third_intermediate, PANELS),
        holds=above(0.5),
        threshold="the text's number; ours: `a number of` is three",
        horizon=LATE,
    ),
    claim(
        "top-layers",
        says="The alignment of the very top layers stays relatively low",
        paper="low",
        number="highest CKA of the last two layers, mean, over that of the best intermediate one",
        statistic=by_run(top_over_intermediate, PANELS),
        holds=below(0.75),
        threshold="ours, for `relatively low`: three quarters of the best intermediate layer",
        horizon=LATE,
    ),
    claim(
        "layers-unordered",
        says="The alignment of layers does not gradually increase with their depth (note 6)",
        paper="not increasing",
        number="rank correlation of a layer's highest CKA, train or test, with its depth",
        statistic=by_run(order_of_layers, PANELS),
        holds=below(0.5),
        threshold="ours: less than half of a perfect order",
        horizon=LATE,
        seen="this was written, and a reader had found it so",
    ),
    claim(
        "test-above-train",
        says="At high noise the alignment on test examples is far above that on training examples "
        "while the network learns",
        paper="much higher",
        number="highest test CKA over highest train CKA up to the best test accuracy",
        experiments=(NOISE50,),
        statistic=by_run(test_over_train_while_learning, memory),
        holds=above(MUCH_HIGHER),
        threshold="ours, for `much higher`: half as high again",
        seen=f"{BESIDE}, without which it holds",
        unit=times,
        apart=has_fitted,
    ),
    claim(
        "peaks-together",
        says="At high noise the layers' alignments peak when the test accuracy does",
        paper="together",
        number="factor in iterations between a layer's test peak and the accuracy's, median",
        experiments=(NOISE50,),
        statistic=by_run(peaks_apart, memory),
        holds=below(HALF_A_DECADE),
        threshold="ours: half a decade on the figure's axis",
        horizon=OVERFITTED,
        seen="overfitting was read as the text says it, not as 5 points, which the memorising run "
        f"alone has, and when {BESIDE}, without which it fails",
        unit=times,
        apart=has_fitted,
    ),
    claim(
        "clean-labels",
        says="At high noise the kernel is biased towards features that predict the clean labels, "
        "while the network learns",
        paper="stronger",
        number="highest CKA with the clean labels over the highest with the given ones, train, up "
        "to the best test accuracy",
        experiments=(NOISE50,),
        statistic=by_run(clean_over_given_while_learning, memory),
        holds=above(1.25),
        threshold="ours, for `stronger`: by a quarter; the text infers it from test images, whose "
        "labels are all clean",
        horizon=with_centring("clean", iteration(EARLY)),
        seen="this was written, with the sign, which an untrained network meets, too (1.06 ×), and "
        "by which it holds; and when its premise, a test CKA half as high again as the train one, "
        "was no longer asked",
        unit=times,
        apart=has_fitted,
    ),
    claim(
        "given-labels-later",
        says="Once the random labels are known, the kernel is aligned with the given labels more "
        "than with the clean ones",
        paper="not said",
        number="CKA with the given labels over that with the clean ones, train, at the end",
        experiments=(NOISE50,),
        statistic=by_run(given_over_clean_at_the_end),
        holds=above(1.0),
        threshold="ours: the sign",
        horizon=with_centring("clean", FITTED_TRAINING),
        section=Section.ours,
        seen="this was written",
        unit=times,
        recipes=("paper",),
    ),
    Claim(
        id="fig11-rise",
        figure="11",
        says="Alignment on held-out examples rises for three pairs of network and data",
        paper="rises",
        number="last over first CKA, test",
        experiments=tuple(NETWORKS),
        tables=("alignment",),
        statistic=by_run(last_over_first, NETWORKS, split="test", centring="class"),
        holds=above(1.0),
        horizon=iteration(EARLY),
        unit=times,
        recipes=PAPER_AND_RELEASED,
    ),
    _uncentred(
        "none",
        "Alignment with neither kernel nor labels centred rises on held-out examples as well",
    ),
    _uncentred(
        "labels",
        "Uncentred alignment as the authors' code has it, with centred labels, rises on held-out "
        "examples as well",
    ),
)
