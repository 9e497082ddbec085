"""For every claim of the ledger tables with which it holds, and tables with which it fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ntkexp.experiments import axes
from ntkexp.papers.alignment.claims import measures, notebooks
from ntkexp.results.record import Record
from ntkexp.theory.propositions import IDENTITIES
from tests.papers import made
from tests.papers.made import LEARNING, OVERFITTING, STEPS, Curve, evals, record, rows

KERNEL_SIZE = 1000
Example = Callable[[bool], list[Record]]


def of(make: Callable[..., list[Record]], holds: Any, fails: Any, name: str = "") -> Example:
    """Records of one value, with which a claim holds, or of the other, with which it fails; of an
    argument of this name, if there is one."""

    def example(shown: bool) -> list[Record]:
        value = holds if shown else fails
        return make(**{name: value}) if name else make(value)

    return example


def one_table(experiment: str, table: str, **columns: Any) -> list[Record]:
    return [record(experiment, {table: pd.DataFrame(columns)})]


# Figures 1 and 10


def lattice(side: int = 50, right: bool = True) -> pd.DataFrame:
    """The points of the square; where it is not right the labels of the disk are turned."""
    line = np.linspace(-1, 1, side)
    grid = rows({"y": line, "x": line}, step=0, split="test")
    inside = np.hypot(grid["x"], grid["y"]) <= np.sqrt(2 / np.pi)
    return grid.assign(label=(inside == right).astype(int), point=range(side * side))


def disk(
    at_start: float = 0.015,
    at_end: float = 0.002,
    name: str = "disk",
    right: bool = True,
    training: int = 500,
    side: int = 50,
) -> list[Record]:
    """The last of twenty eigenvalues is `at_start` and `at_end` of the first."""
    values = [np.geomspace(1, ratio, 20) for ratio in (at_start, at_end)]
    eigenvalues = rows({"step": (0, 2000), "rank": range(1, 21)}, eigenvalue=values)
    grid = lattice(side, right)
    trained = grid.iloc[np.arange(training) % len(grid)].assign(split="train")
    return [record(name, {"eigenvalues": eigenvalues, "points": pd.concat([grid, trained])})]


def disk_functions(labelled: tuple[bool, bool]) -> list[Record]:
    """Five odd functions of the plane at start and end, the last replaced by the labels where
    asked."""
    grid = lattice()
    x, y, labels = grid["x"], grid["y"], grid["label"]
    odd = [x, y, x * y, x**3 * y, x * y**3]
    values = [[*odd[:4], labels - labels.mean()] if last else odd for last in labelled]
    at = {"step": (0, 2000), "rank": range(5), "point": grid["point"]}
    eigenvalues = pd.DataFrame({"step": [0, 2000], "rank": 1, "eigenvalue": 1.0})
    tables = {"eigenfunctions": rows(at, value=values), "eigenvalues": eigenvalues, "points": grid}
    return [record("disk", tables)]


FIG01: dict[str, Example] = {
    "fig01-ratio-at-start": of(disk, 0.014, 0.0002),
    "fig01-ratio-at-end": of(disk, 0.0021, 0.01, "at_end"),
    "fig01-anisotropy": of(disk, 0.01, 0.02, "at_end"),
    "fig01-anisotropy-uncentred": of(partial(disk, name="disk_uncentred"), 0.01, 0.02, "at_end"),
    "fig01-class-share": of(disk_functions, (False, True), (False, False)),
    "fig01-class-structure": of(disk_functions, (False, True), (True, False)),
    "fig01-rotation-invariance": of(disk_functions, (True, True), (True, False)),
    "fig10-labels": of(disk, True, False, "right"),
    "fig10-training-set": of(disk, 500, 400, "training"),
    "fig10-lattice": of(disk, 50, 40, "side"),
}

# Figures 2, 3, 11, 12 and 14

ALL = ("vgg19_clean", "vgg19_noise20", "vgg19_noise50")
NOISE50 = ("vgg19_noise50",)
VARIOUS = (*ALL, "mlp_mnist", "resnet18_cifar10")
LOW_RATE = ("vgg19_clean_lr003", "vgg19_noise50_lr003")


def flat(ranks: ArrayLike, sizes: ArrayLike = 1.0) -> np.ndarray:
    """(looks, eigenvalues): spectra of these effective ranks, equal eigenvalues and then zeros."""
    rank, size = np.broadcast_arrays(np.asarray(ranks), sizes)
    return size[:, None] * (np.arange(KERNEL_SIZE) < rank[:, None])


def networks(
    experiments: Sequence[str], spectra: np.ndarray, centring: str = "class", **of_evals: Curve
) -> list[Record]:
    tables = {"spectrum": made.spectrum(spectra, centring=centring), "evals": evals(**of_evals)}
    return [record(experiment, tables) for experiment in experiments]


def ranks(experiments: Sequence[str], *values: int, **of_evals: Any) -> list[Record]:
    return networks(experiments, flat(values), **of_evals)


def sizes(values: Curve) -> list[Record]:
    """All eigenvalues grow alike."""
    return networks(ALL, flat(5 * [500], values))


def first_and_others(
    values: tuple[Curve, Curve], experiments: Sequence[str] = ALL, centring: str = "class"
) -> list[Record]:
    """The first eigenvalue at each look, and all others."""
    first, others = (np.array(curve)[:, None] for curve in values)
    return networks(experiments, np.where(np.arange(KERNEL_SIZE), others, first), centring)


def likeness(scale: float) -> list[Record]:
    """Spectra on test images that are so many times those on training images."""
    train = flat(5 * [300])
    return [record(name, {"spectrum": made.spectrum(train, scale * train)}) for name in ALL]


RISING, LEVEL = (0.02, 0.05, 0.1, 0.2, 0.25), (0.02, 0.02, 0.02, 0.02, 0.02)
TWO_RATES = ((120, RISING, LEVEL), (39, LEVEL, RISING))


def two_rates(fast: str, values: tuple[int, Curve, Curve]) -> list[Record]:
    """The effective rank at the small rate, where that at the large one is 40; the alignment at
    the large rate and at the small one."""
    lowest, *curves = values
    runs = [*ranks([fast], 600, *4 * [40]), *ranks([f"{fast}_lr003"], 600, *4 * [lowest])]
    return [
        replace(run, tables={**run.tables, "alignment": made.alignment(curve, curve)})
        for run, curve in zip(runs, curves, strict=True)
    ]


def fitting(train: Curve) -> list[Record]:
    """Of 100,000 iterations."""
    curves = evals(train, steps=(*STEPS[:-1], 100_000))
    return [record(experiment, {"evals": curves}) for experiment in ALL]


# The effective ranks with which a claim holds and those with which it fails.
RANKS: dict[str, tuple[Sequence[str], Sequence[int], Sequence[int]]] = {
    "fig02-early-drop": (ALL, (600, 200, 200, 200, 100), (600, 500, 500, 500, 100)),
    "fig02-erank-drop-clean": (ALL[:1], (800, 40, 40, 300, 300), (800, 300, 300, 300, 300)),
    "fig02-erank-drop-noise50": (NOISE50, (800, 40, 40, 300, 300), (800, 300, 300, 300, 300)),
    "fig02-t80-t160": (ALL, (600, 200, 200, 200, 200), (600, 550, 550, 550, 550)),
    "fig02-t40": (ALL, (600, 50, 50, 50, 50), (600, 100, 100, 100, 100)),
    "fig02-low-while-learning": (NOISE50, (600, 100, 100, 500, 500), (600, 100, 500, 500, 500)),
    "fig02-erank-against-accuracy": (NOISE50, (600, 300, 100, 200, 250), (600, 100, 300, 200, 150)),
    "fig02-late-rise": (NOISE50, (600, 100, 100, 300, 400), (50, 100, 300, 400, 500)),
    "fig02-various-drop": (VARIOUS, (600, 200, 200, 200, 200), (600, 500, 500, 500, 500)),
    "fig14-early-drop": (LOW_RATE, (600, 200, 200, 200, 200), (600, 500, 500, 500, 500)),
}
SPREADING = (((1, 50, 50, 50, 50), 5 * [1]), 2 * ((1, 3, 3, 3, 3),))

FIG02: dict[str, Example] = {
    **{
        name: of(lambda values, experiments=experiments: ranks(experiments, *values), holds, fails)
        for name, (experiments, holds, fails) in RANKS.items()
    },
    "fig02-uncentred-drop": of(
        lambda values: ranks(ALL, *values, centring="none"), *RANKS["fig02-early-drop"][1:]
    ),
    "fig02-early-increase": of(sizes, (1, 0.5, 2, 3, 200), (1, 0.5, 2, 1.5, 200)),
    "fig02-max-growth": of(sizes, (1, 1, 2, 2, 200), (1, 1, 2, 2, 2)),
    "fig02-mean-growth": of(sizes, (1, 1, 2, 2, 200), (1, 1, 2, 2, 2)),
    "fig02-early-anisotropy": of(first_and_others, *SPREADING),
    "fig02-various-anisotropy": of(partial(first_and_others, experiments=VARIOUS), *SPREADING),
    "fig02-uncentred-anisotropy": of(partial(first_and_others, centring="none"), *SPREADING),
    # Early one eigenvalue outgrows the others or falls behind, late it is the other way round.
    "fig02-anisotropic-growth": of(
        first_and_others,
        ((10, 10, 10, 50, 20), (1, 1, 1, 2, 4)),
        ((10, 10, 10, 20, 50), (1, 1, 1, 4, 2)),
    ),
    "fig02-anisotropic-growth-fitted": of(
        first_and_others,
        ((1, 1, 1, 1, 50), (1, 1, 1, 1, 1)),
        ((10, 10, 10, 10, 10), (1, 1, 1, 1, 10)),
    ),
    "fig02-drop-by-noise": of(
        lambda without: [*ranks(ALL[:1], 600, *4 * [without]), *ranks(ALL[1:], 600, *4 * [200])],
        100,
        300,
    ),
    "fig02-fits": of(fitting, LEARNING, OVERFITTING),
    "fig02-accuracy-falls": of(partial(ranks, NOISE50, *5 * [300]), OVERFITTING, LEARNING, "test"),
    "fig02-train-test-likeness": of(likeness, 1.1, 4.0),
    **{
        f"fig14-{what}-{name}": of(partial(two_rates, f"vgg19_{name}"), *TWO_RATES)
        for what in ("level", "rate-enhances", "rate-lowers-rank")
        for name in ("clean", "noise50")
    },
}

NETWORKS = ("mlp_mnist", "vgg19_clean", "resnet18_cifar10")


def aligned(experiments: Sequence[str], *curves: Any, **rest: Any) -> list[Record]:
    tables = {"alignment": made.alignment(*curves, **rest), "evals": evals()}
    return [record(experiment, tables) for experiment in experiments]


def alike(experiments: Sequence[str], centring: str, curve: Curve) -> list[Record]:
    """The same alignment on both splits."""
    return aligned(experiments, curve, curve, centring=centring)


def layers(peaks: Curve) -> list[Record]:
    return aligned(ALL, LEVEL, LEVEL, [(0, 0, peak, 0, 0) for peak in peaks])


def layers_peak(place: int) -> list[Record]:
    return aligned(NOISE50, LEVEL, LEVEL, [np.where(np.arange(5) == place, 0.5, 0.1)] * 5)


def with_clean_labels(curves: tuple[Curve, Curve]) -> list[Record]:
    """The alignment with the given labels and with the clean ones; that on test images is twice
    that with the given labels."""
    given, clean = map(np.asarray, curves)
    both = [made.alignment(given, 2 * given), made.alignment(clean, clean, centring="clean")]
    return [record("vgg19_noise50", {"alignment": pd.concat(both), "evals": evals()})]


FIG03: dict[str, Example] = {
    "fig03-train-cka-rises": of(partial(alike, ALL, "class"), RISING, LEVEL),
    "fig03-test-cka-rises": of(partial(alike, ALL, "class"), RISING, LEVEL),
    "fig03-intermediate-layers": of(
        layers, (0.1, 0.6, 0.7, 0.8, 0.2, 0.2, 0.9), (0.1, 0.6, 0.7, 0.3, 0.2, 0.2, 0.9)
    ),
    "fig03-top-layers": of(layers, (0.1, 0.6, 0.7, 0.2, 0.2), (0.1, 0.6, 0.7, 0.7, 0.7)),
    "fig03-layers-unordered": of(layers, (0.1, 0.6, 0.7, 0.2, 0.3), (0.1, 0.2, 0.3, 0.7, 0.6)),
    "fig03-test-above-train": of(partial(aligned, NOISE50, LEVEL), RISING, LEVEL),
    "fig03-clean-labels": of(with_clean_labels, (LEVEL, RISING), (RISING, LEVEL)),
    "fig03-given-labels-later": of(with_clean_labels, (RISING, LEVEL), (LEVEL, RISING)),
    "fig03-peaks-together": of(layers_peak, 2, 4),
    "fig11-rise": of(partial(alike, NETWORKS, "class"), RISING, RISING[::-1]),
    "fig12-rise-none": of(partial(alike, NETWORKS, "none"), RISING, RISING[::-1]),
    "fig12-rise-labels": of(partial(alike, NETWORKS, "labels"), RISING, RISING[::-1]),
}

# The notebooks' curves

LONG = tuple(np.unique(np.geomspace(1, 100001, 80).round().astype(int)) - 1)


def stairs(*pairs: tuple[int, float]) -> np.ndarray:
    """A curve that is constant from each step on."""
    steps, values = zip(*pairs, strict=True)
    return np.array(values)[np.searchsorted(steps, LONG, side="right") - 1]


def notebook(
    experiment: str,
    rank: ArrayLike = 200,
    *,
    train: ArrayLike = 0.02,
    test: ArrayLike = 0.02,
    layer: float = 0.1,
    accuracy: ArrayLike = 0.5,
    known: float = 0.9,
) -> list[Record]:
    """A run of 100,000 iterations by the released recipe. Effective ranks, alignments and test
    accuracies are curves or constants; `known`: its train accuracy."""
    full = partial(np.full, len(LONG))
    cka = full(train), full(test), [full(layer)]
    tables = {
        "spectrum": made.spectrum(flat(full(rank))[:, :600], steps=LONG),
        "alignment": made.alignment(*cka, steps=LONG),
        "evals": evals(full(known), full(accuracy), steps=LONG),
    }
    return [record(experiment, tables, recipe="released")]


def notebooks_of(experiment: str) -> dict[str, Example]:
    """Its effective ranks at some steps are those of the notebooks or less by 60; it rises a
    second time, or not, if there is noise."""
    name = experiment.removeprefix("vgg19_")
    make = partial(notebook, experiment)
    levels = notebooks.LEVELS[experiment].items()
    expected = {f"level-{name}-{step}": level for step, level in levels}
    expected[f"early-minimum-{name}"] = notebooks.EARLY_MINIMUM[experiment]
    found = {what: of(make, level, level - 60) for what, level in expected.items()}
    rises = [stairs((0, 180), (50_000, last)) for last in (520, 180)]
    found[f"second-rise-{name}"] = of(make, *(rises[::-1] if name == "clean" else rises))
    return {f"fig02-notebook-{what}": example for what, example in found.items()}


NOTEBOOKS: dict[str, Example] = {
    **{name: example for one in ALL for name, example in notebooks_of(one).items()},
    "fig02-notebook-accuracy-falls": lambda holds: notebook(
        "vgg19_noise50", accuracy=stairs((0, 0.1), (9000, 0.78), (50_000, 0.52 if holds else 0.77))
    ),
    "fig03-notebook-total": lambda holds: notebook(
        "vgg19_clean", train=stairs((0, 0.01), (9000, 0.25 if holds else 0.1))
    ),
    "fig03-notebook-layers": of(partial(notebook, "vgg19_clean"), 0.5, 0.3, "layer"),
    "fig03-notebook-train-low": lambda holds: notebook(
        "vgg19_noise50", train=stairs((0, 0.02), (5000, 0.05 if holds else 0.1), (50_000, 0.3))
    ),
    "fig03-notebook-test-falls": lambda holds: notebook(
        "vgg19_noise50", test=stairs((0, 0.01), (9000, 0.1), (50_000, 0.05 if holds else 0.09))
    ),
}

# Figures 4 and 13

HIERARCHY = ("easy_difficult_noise", "easy_difficult_kmnist")
KMNIST = HIERARCHY[1:]
FINE = np.unique(np.geomspace(1, 10001, 60).round().astype(int)) - 1
EASY_KMNIST = (0.1, 0.3, 0.5, 0.5, 0.5)
EASY, DIFFICULT = (0.1, 0.4, 0.5, 0.5, 0.5), (0.1, 0.1, 0.1, 0.2, 0.4)


def subsets(column: str, curves: Sequence[ArrayLike], steps: Sequence[int] = STEPS) -> pd.DataFrame:
    """Two curves, of the easy and of the difficult examples."""
    about = {"split": "train", "layer": "total", "layer_index": -1, "centring": "class"}
    return rows({"subset": ("easy", "difficult"), "step": steps}, **about, **{column: curves})


def hierarchy(experiments: Sequence[str], curves: tuple[Curve, Curve]) -> list[Record]:
    tables = {"alignment": subsets("cka", curves), "evals": subsets("accuracy", curves)}
    return [record(experiment, tables) for experiment in experiments]


def logistic(middle: float, width: float, height: float = 1.0) -> np.ndarray:
    return height / (1 + np.exp(-(np.log1p(FINE) - middle) / width))


def high(first: float, last: float) -> tuple[np.ndarray, np.ndarray]:
    return np.where((first <= FINE) & (last > FINE), 0.5, 0.1), np.full(len(FINE), 0.1)


def depths(curves: Callable[[int], tuple[np.ndarray, np.ndarray]]) -> Example:
    """One seed's sweep; where it fails the networks are handed out in the opposite order."""

    def sweep(places: Sequence[int]) -> list[Record]:
        return [
            record(
                "easy_difficult_depth",
                {"alignment": subsets("cka", curves(place), FINE)},
                **{"model.depth": depth},
            )
            for place, depth in zip(places, (3, 6, 9), strict=True)
        ]

    return of(sweep, (0, 1, 2), (2, 1, 0))


higher_from_place_to_place = depths(lambda place: (logistic(5, 0.5, 1 + place), logistic(6, 0.5)))

FIG04: dict[str, Example] = {
    "fig04-easy-higher": of(partial(hierarchy, HIERARCHY), (RISING, LEVEL), (LEVEL, RISING)),
    "fig04-ratio-rises": of(partial(hierarchy, HIERARCHY), (RISING, LEVEL), (LEVEL, RISING)),
    "fig04-easy-first": of(
        partial(hierarchy, HIERARCHY),
        ((0.1, 0.6, 0.9, 1, 1), (0.1, 0.1, 0.2, 0.6, 1)),
        ((0.1, 0.1, 0.2, 0.6, 1), (0.1, 0.6, 0.9, 1, 1)),
    ),
    "fig04-easy-faster": of(partial(hierarchy, HIERARCHY), (RISING, LEVEL), (RISING, RISING)),
    "fig04-kmnist-rises": of(
        partial(hierarchy, KMNIST),
        (EASY_KMNIST, (0.1, 0.1, 0.1, 0.1, 0.4)),
        (EASY_KMNIST, (0.1, 0.1, 0.1, 0.1, 0.1)),
    ),
    "fig04-kmnist-rises-more": lambda holds: [
        *hierarchy(HIERARCHY[:1], (EASY_KMNIST, (0.1, 0.1, 0.1, 0.1, 0.2))),
        *hierarchy(KMNIST, (EASY_KMNIST, (0.1, 0.1, 0.1, 0.1, 0.4 if holds else 0.15))),
    ],
    "fig04-kmnist-later": of(partial(hierarchy, KMNIST), (EASY, DIFFICULT), (DIFFICULT, EASY)),
    "fig13-magnified": higher_from_place_to_place,
    "fig13-rises-faster": higher_from_place_to_place,
    "fig13-higher-ratio": higher_from_place_to_place,
    "fig13-starts-later": depths(lambda place: (logistic(4 + place, 0.3), logistic(6, 0.3))),
    "fig13-rises-shorter": depths(lambda place: (logistic(5, 0.9 - 0.2 * place), logistic(6, 0.3))),
    # High for fewer iterations from place to place, and for more decades of them.
    "fig13-shorter": depths(
        lambda place: high(1000 / 10**place, 1000 / 10**place + 3000 - 1000 * place)
    ),
    # High for more iterations from place to place, and for fewer decades of them.
    "fig13-shorter-decades": depths(lambda place: high(10 * 4**place, 1000 + 1000 * place)),
}

# Figure 6


def sweeps(loss: float = 0.01, **follows: bool) -> list[Record]:
    """Networks with ever larger gaps, and with measures that rise by a million each, or fall."""

    def network(experiment: str, place: int) -> Record:
        sizes = {name: 1e6 * (1 + place if rises else -place) for name, rises in follows.items()}
        values = {**sizes, measures.GAP: 0.1 * place, "train_loss": loss}
        ours = [0.0, sizes.get(measures.OURS, 1.0)]
        tables = {
            "measures": pd.DataFrame({"step": 9, "measure": [*values], "value": values.values()}),
            "complexity": pd.DataFrame({"step": [8, 9], "complexity": ours}),
        }
        return record(experiment, tables, **{axes(experiment)[0]: 1 + place})

    return [network(experiment, place) for experiment in measures.PANELS for place in range(4)]


FIG06: dict[str, Example] = {
    **{
        f"fig06-{name.replace('_', '-')}": lambda holds, name=name: sweeps(**{name: holds})
        for name in (measures.OURS, *measures.NEYSHABUR)
    },
    # One of them puts the networks in the order of their gaps, the other in the opposite one.
    "fig06-better": lambda holds: sweeps(complexity=holds, l2_norm=not holds),
    "fig06-others": lambda holds: sweeps(l2_norm=not holds),
    "fig06-four-million": lambda holds: sweeps(complexity=holds, parameters=True),
}

# Figures 7 and 8

FALLING, PAIRS = np.geomspace(100, 1, 50), np.arange(50) / 2


def directions(singular: ArrayLike, random: float) -> list[Record]:
    variation = [np.full(50, singular), np.full(50, random)]
    kinds = {"kind": ("singular", "random"), "index": range(50)}
    table = rows(kinds, step=9, method="perturbation", variation=variation)
    return [record("vgg11_directions", {"directions": table})]


def modes(frequency: ArrayLike = PAIRS, decay: float = 0.004, share: float = 0.9) -> list[Record]:
    eigenvalue = decay ** (np.arange(50) / 9)
    return one_table("fourier_modes", "peak_frequency", seed=0, mode=range(50),
                     frequency=frequency, eigenvalue=eigenvalue, share=share)  # fmt: skip


FIG07_AND_08: dict[str, Example] = {
    "fig07-top-directions": of(partial(directions, FALLING), 0.5, 50.0),
    "fig07-random-directions": of(partial(directions, FALLING), 0.5, 50.0),
    "fig07-hierarchy": of(partial(directions, random=0.1), FALLING, 1.0),
    "fig08-frequency-order": of(modes, PAIRS, PAIRS[::-1]),
    "fig08-first-half": of(modes, PAIRS, PAIRS[::-1]),
    "fig08-fourier-modes": of(modes, 0.9, 0.3, "share"),
    "fig08-decay": of(modes, 0.004, 0.5, "decay"),
}

# Figures 5 and 9


def supernat(natural: Curve, descent: Curve, to_the_letter: float = 0.2) -> list[Record]:
    """Test errors, and those of equation (17) taken to the letter, which end so."""
    algorithms = {"algorithm": ("supernat", "gradient_descent"), "step": STEPS}
    letter = ((1, 0.5, 0.3, 0.2, to_the_letter), 5 * [np.inf])
    losses = {"loss": ("mean", "half_sum"), "step": STEPS}
    tables = {
        "test_error": rows(algorithms, seed=0, error=(natural, descent)),
        "kappa_error": rows(losses, kappa="none", seed=0, error=letter),
    }
    return [record("supernat", tables)]


def scaling(l2: Curve = (1, 1, 1), optimised: Curve = (0.8, 0.4, 0.4)) -> list[Record]:
    return scaled("scaling", c=(0.0, 0.5, 0.99), test_error=(0.5, 0.02, 0.01), l2_bound=l2,
                  optimised_bound=optimised)  # fmt: skip


def scatter(last: float) -> list[Record]:
    """Points around the origin, twice as wide as high at c = 0."""
    first = np.tile([-1.0, 1, 0, 0], 18)
    second = [*9 * [0, 0, -2.0, 2.0], *9 * [0, 0, -last, last]]
    return scaled("solutions", c=np.repeat([0.0, 0.99], 36), first=first, second=second)


def scaled(table: str, **columns: Any) -> list[Record]:
    made = {table: pd.DataFrame(columns)}
    return [record("feature_scaling", made, **{"study.half_width": 3.0})]


WORSE = (1, 0.1, 0.05, 0.2, 0.4)
FIG05_AND_09: dict[str, Example] = {
    "fig05-supernat-below": lambda holds: supernat(
        (1, 0.1, 0.06, 0.06, 0.06), (1, 0.1, 0.2, 0.3, 0.4 if holds else 0.01)
    ),
    "fig05-letter-of-17": of(partial(supernat, LEARNING, WORSE), 0.2, 0.9),
    "fig05-descent-overfits": of(partial(supernat, LEARNING), WORSE, (1, 0.1, 0.05, 0.2, 0.04)),
    "fig05-supernat-freezes": lambda holds: one_table(
        "supernat", "kernel_alignment", algorithm="supernat", step=[0, 500, 1000],
        noise_left=[1.0, 0.4, 0.4 if holds else 0.01],
    ),
    "fig05-supernat-stretches": lambda holds: one_table(
        "supernat", "kernel_alignment", algorithm="supernat", step=[0, 1],
        ratio=[6.0, 9.0 if holds else 0.1],
    ),
    "fig09-scatter": of(scatter, 20.0, 4.0),
    "fig09-l2-loose": of(scaling, (1, 0.5, 2.0), (1, 0.5, 0.5)),
    # Of white features, c = 0, the claim says nothing.
    "fig09-l2-shape": of(scaling, (3.0, 0.5, 2.0), (0.1, 0.5, 0.2)),
    "fig09-optimised-falls": of(scaling, (0.8, 0.4, 0.4), (0.8, 0.4, 1.0), "optimised"),
    "fig09-optimised-flat": of(scaling, (0.8, 0.4, 0.4), (0.8, 0.4, 1.0), "optimised"),
}  # fmt: skip

# Theorems


def bound(table: str, value: str, limit: str, holds: bool) -> list[Record]:
    columns = {value: [0.5, 0.9 if holds else 1.1], limit: [1.0, 1.0]}
    return one_table("rademacher", table, **columns)


def proposition(statement: str, holds: bool) -> list[Record]:
    return one_table("supernat", "propositions", statement=[statement, "another"], seed=0,
                     error=[1e-12 if holds else 1e-3, 0.5])  # fmt: skip


THEOREMS: dict[str, Example] = {
    "lemma1-order": lambda holds: one_table(
        "local_bias", "local_bias_slope", seed=0, iteration=[0, 1000], eta_to=1e-4,
        slope=[2.0 if holds else 1.0, 9.0],
    ),
    "bound10": partial(bound, "rademacher_linear", "exact", "bound"),
    "bound12": partial(bound, "rademacher_flow", "exact", "bound"),
    "lemma12": partial(bound, "rademacher_multiclass", "sampled", "lemma_12"),
    "theorem13": partial(bound, "rademacher_multiclass", "sampled", "theorem_13"),
    **{name.replace("_", "-"): partial(proposition, name) for name in IDENTITIES},
    "function49": lambda holds: one_table(
        "linear_modes", "linear_function", difference=[0.0, 1e-15 if holds else 1e-3]
    ),
    "modes51": lambda holds: one_table(
        "linear_modes", "linear_modes", measured=[1.0], predicted=[1.0 if holds else 1.1]
    ),
    "time-constants": lambda holds: one_table(
        "linear_modes", "time_constants", measured=[0.0, 2.0 if holds else 0.5],
        predicted=[0.0, 2.0],
    ),
}  # fmt: skip

EXAMPLES: dict[str, Example] = {
    **FIG01, **FIG02, **FIG03, **NOTEBOOKS, **FIG04, **FIG06, **FIG07_AND_08, **FIG05_AND_09,
    **THEOREMS,
}  # fmt: skip
