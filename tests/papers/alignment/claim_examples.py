"""For every claim of the ledger tables with which it holds, and tables with which it fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ntkexp.experiments import axes
from ntkexp.papers.alignment.claims import measures, notebooks
from ntkexp.results.record import Record
from ntkexp.theory.propositions import IDENTITIES

STEPS = (0, 10, 100, 1000, 10000)
KERNEL_SIZE = 1000
Example = Callable[[bool], list[Record]]
Curve = Sequence[float]


def record(
    experiment: str, tables: Mapping[str, pd.DataFrame], *, seed: int = 0, **config: object
) -> Record:
    run = f"{experiment}-{seed}-{config}"
    return Record(experiment, run, {"name": experiment, "seed": seed, **config}, tables)


# Figures 1 and 10


def lattice(side: int = 50, right: bool = True) -> pd.DataFrame:
    x, y = (part.ravel() for part in np.meshgrid(*2 * [np.linspace(-1, 1, side)]))
    inside = np.hypot(x, y) <= np.sqrt(2 / np.pi)
    frame = pd.DataFrame({"x": x, "y": y, "label": (inside == right).astype(int)})
    return frame.assign(step=0, split="test", point=range(side * side))


def points(right: bool = True, training: int = 500, side: int = 50) -> pd.DataFrame:
    grid = lattice(side, right)
    return pd.concat([grid, grid.iloc[np.arange(training) % len(grid)].assign(split="train")])


def disk(
    at_start: float = 0.015, at_end: float = 0.002, name: str = "disk", **of_points: object
) -> list[Record]:
    rows = [
        pd.DataFrame({"step": step, "rank": range(1, 21), "eigenvalue": np.geomspace(1, ratio, 20)})
        for step, ratio in ((0, at_start), (2000, at_end))
    ]
    tables = {"eigenvalues": pd.concat(rows), "points": points(**of_points)}  # type: ignore[arg-type]
    return [record(name, tables)]


def disk_functions(at_start: bool, at_end: bool) -> list[Record]:
    """Five odd functions of the plane, the last replaced by the labels where asked."""
    grid = lattice()
    x, y, labels = grid["x"], grid["y"], grid["label"]
    odd = [x, y, x * y, x**3 * y, x * y**3]
    rows = []
    for step, labelled in ((0, at_start), (2000, at_end)):
        functions = [*odd[:4], labels - labels.mean()] if labelled else odd
        rows += [
            pd.DataFrame({"step": step, "rank": rank, "point": grid["point"], "value": values})
            for rank, values in enumerate(functions, start=1)
        ]
    eigenvalues = pd.DataFrame({"step": [0, 2000], "rank": 1, "eigenvalue": 1.0})
    tables = {"eigenfunctions": pd.concat(rows), "eigenvalues": eigenvalues, "points": grid}
    return [record("disk", tables)]


# Figures 2, 3, 11, 12 and 14

LEARNING = (0.1, 0.2, 0.4, 0.8, 1.0)
OVERFITTING = (0.1, 0.3, 0.7, 0.6, 0.5)
ALL = ("vgg19_clean", "vgg19_noise20", "vgg19_noise50")
VARIOUS = (*ALL, "mlp_mnist", "resnet18_cifar10")


def evals(train: Curve = LEARNING, test: Curve = OVERFITTING) -> pd.DataFrame:
    rows = {"train": train, "test": test}
    return pd.concat(
        pd.DataFrame({"step": STEPS, "split": split, "subset": "all", "accuracy": curve})
        for split, curve in rows.items()
    )


def flat(rank: int, size: float = 1.0) -> np.ndarray:
    """A spectrum of this effective rank: equal eigenvalues, then zeros."""
    return size * (np.arange(KERNEL_SIZE) < rank)


def spectrum(train: Sequence[np.ndarray], test: Sequence[np.ndarray] | None = None) -> pd.DataFrame:
    rows = []
    for split, spectra in (("train", train), ("test", test if test is not None else train)):
        for step, eigs in zip(STEPS, spectra, strict=True):
            ranks = range(1, len(eigs) + 1)
            rows.append(
                pd.DataFrame({"step": step, "split": split, "rank": ranks, "eigenvalue": eigs})
            )
    return pd.concat(rows).assign(layer="total", centring="class")


def vgg(experiments: Sequence[str], *spectra: np.ndarray, **of_evals: Curve) -> list[Record]:
    tables = {"spectrum": spectrum(spectra), "evals": evals(**of_evals)}
    return [record(experiment, tables) for experiment in experiments]


def ranks(experiments: Sequence[str], *values: int, **of_evals: Curve) -> list[Record]:
    return vgg(experiments, *map(flat, values), **of_evals)


def early_growth(holds: bool) -> list[Record]:
    return vgg(ALL, *(flat(500, size) for size in (1.0, 0.5, 2.0, 3.0 if holds else 1.5, 200.0)))


def early_anisotropic(holds: bool) -> list[Record]:
    """Early one eigenvalue outgrows the others or falls behind, late it is the other way round."""
    first = np.where(np.arange(KERNEL_SIZE) == 0, 10.0, 1.0)
    ahead, behind = np.where(first > 1, 50.0, 2.0), np.where(first > 1, 20.0, 4.0)
    early, late = (ahead, behind) if holds else (behind, ahead)
    return vgg(ALL, first, first, first, early, late)


def early_anisotropy(holds: bool, experiments: Sequence[str] = ALL) -> list[Record]:
    spread = np.where(np.arange(KERNEL_SIZE) == 0, 50.0, 1.0)
    return vgg(experiments, flat(KERNEL_SIZE), *4 * [spread if holds else flat(KERNEL_SIZE, 3.0)])


def growth(holds: bool) -> list[Record]:
    last = 200.0 if holds else 2.0
    return vgg(ALL, *(flat(500, size) for size in (1.0, 1.0, 2.0, 2.0, last)))


def anisotropic(holds: bool) -> list[Record]:
    top, rest = (50.0, 1.0) if holds else (1.0, 10.0)
    last = np.where(np.arange(KERNEL_SIZE) == 0, top, rest)
    last[0] = max(top, rest)
    first = np.where(np.arange(KERNEL_SIZE) == 0, 1.0 if holds else 10.0, 1.0)
    return vgg(ALL, first, first, first, first, last)


def as_it_is(runs: list[Record]) -> list[Record]:
    """The same spectra, of kernels that are not centred."""
    return [
        replace(
            run, tables=run.tables | {"spectrum": run.tables["spectrum"].assign(centring="none")}
        )
        for run in runs
    ]


def fitting(holds: bool) -> list[Record]:
    """Of 100,000 iterations."""
    curves = evals(train=LEARNING if holds else OVERFITTING).replace({"step": {10_000: 100_000}})
    return [record(experiment, {"evals": curves}) for experiment in ALL]


def likeness(holds: bool) -> list[Record]:
    train = [flat(300)] * len(STEPS)
    test = [flat(300, 1.1 if holds else 4.0)] * len(STEPS)
    return [record(name, {"spectrum": spectrum(train, test)}) for name in ALL]


def drop(experiment: str, holds: bool) -> list[Record]:
    lowest = 40 if holds else 300
    return ranks([experiment], 800, lowest, lowest, 300, 300)


def slow(fast: str, holds: bool) -> list[Record]:
    lowest = 120 if holds else 40
    return ranks([fast], 600, 40, 40, 40, 40) + ranks(
        [f"{fast}_lr003"], 600, lowest, lowest, lowest, lowest
    )


def lower(fast: str, holds: bool) -> list[Record]:
    """The effective rank at the small rate stays above that at the large one, or falls below it."""
    lowest = 120 if holds else 30
    return ranks([fast], 600, *4 * [40]) + ranks([f"{fast}_lr003"], 600, *4 * [lowest])


def rates(fast: str, holds: bool) -> list[Record]:
    """The alignment at the large rate, then at the small one."""
    high, low = (RISING, LEVEL) if holds else (LEVEL, RISING)
    return aligned([fast], high, high) + aligned([f"{fast}_lr003"], low, low)


# The notebooks' curves

LONG = tuple(np.unique(np.geomspace(1, 100001, 80).round().astype(int)) - 1)


def notebook(
    experiment: str,
    rank: Callable[[int], int] = lambda step: 200,
    train: Callable[[int], float] = lambda step: 0.02,
    test: Callable[[int], float] = lambda step: 0.02,
    layer: float = 0.1,
    accuracy: Callable[[int], float] = lambda step: 0.5,
    known: float = 0.9,
) -> list[Record]:
    """A run of 100,000 iterations by the released recipe; `known`: its train accuracy."""
    frames = [
        pd.DataFrame({"step": step, "rank": range(1, 601), "eigenvalue": flat(rank(step))[:600]})
        for step in LONG
    ]
    eigenvalues = pd.concat(frames).assign(split="train", layer="total", centring="class")
    curves = {"train": train, "test": test}
    rows = [
        pd.DataFrame({"step": LONG, "split": split, "layer": name, "layer_index": index,
                      "cka": [curve(step) if index < 0 else layer for step in LONG]})
        for split, curve in curves.items()
        for index, name in ((-1, "total"), (0, "conv1"))
    ]  # fmt: skip
    told = [
        pd.DataFrame({"step": LONG, "split": split, "accuracy": [of(step) for step in LONG]})
        for split, of in (("train", lambda step: known), ("test", accuracy))
    ]
    tables = {
        "spectrum": eigenvalues,
        "alignment": pd.concat(rows).assign(subset="all", centring="class"),
        "evals": pd.concat(told).assign(subset="all"),
    }
    return [record(experiment, tables, recipe="released")]


def stairs(*pairs: tuple[int, float]) -> Callable[[int], Any]:
    """Constant from each step on."""
    return lambda step: [value for first, value in pairs if step >= first][-1]


def alignment(
    train: Curve, test: Curve, layers: Sequence[Curve] = (), centring: str = "class"
) -> pd.DataFrame:
    """Layers are the same on both splits."""
    rows = []
    for split, total in (("train", train), ("test", test)):
        for index, curve in enumerate((total, *layers), start=-1):
            layer = "total" if index < 0 else f"layer{index}"
            about = {"split": split, "layer": layer, "layer_index": index}
            rows.append(pd.DataFrame({"step": STEPS, "cka": curve, **about}))
    return pd.concat(rows).assign(subset="all", centring=centring)


def aligned(experiments: Sequence[str], *curves: Curve, **rest: object) -> list[Record]:
    tables = {"alignment": alignment(*curves, **rest), "evals": evals()}  # type: ignore[arg-type]
    return [record(experiment, tables) for experiment in experiments]


RISING, LEVEL = (0.02, 0.05, 0.1, 0.2, 0.25), (0.02, 0.02, 0.02, 0.02, 0.02)
NETWORKS = ("mlp_mnist", "vgg19_clean", "resnet18_cifar10")


def uncentred(kind: str, holds: bool) -> list[Record]:
    return aligned(NETWORKS, *2 * [RISING if holds else RISING[::-1]], centring=kind)


def rising(experiments: Sequence[str], centring: str, holds: bool) -> list[Record]:
    curve = RISING if holds else LEVEL
    if experiments is NETWORKS and not holds:
        curve = RISING[::-1]
    return aligned(experiments, curve, curve, centring=centring)


def layers(peaks: Curve) -> list[Record]:
    return aligned(ALL, LEVEL, LEVEL, layers=[(0, 0, peak, 0, 0) for peak in peaks])


def layers_peak(place: int) -> list[Record]:
    curve = tuple(0.5 if step == place else 0.1 for step in range(len(STEPS)))
    return aligned(["vgg19_noise50"], LEVEL, LEVEL, layers=[curve] * 5)


def with_clean_labels(given: Curve, clean: Curve) -> list[Record]:
    """The test alignment is twice that with the given labels."""
    twice = [2 * value for value in given]
    both = [alignment(given, twice), alignment(clean, clean, centring="clean")]
    return [record("vgg19_noise50", {"alignment": pd.concat(both), "evals": evals()})]


# Figures 4 and 13

HIERARCHY = ("easy_difficult_noise", "easy_difficult_kmnist")
FINE = np.unique(np.geomspace(1, 10001, 60).round().astype(int)) - 1


def subsets(easy: Sequence[float] | np.ndarray, difficult: Sequence[float] | np.ndarray,
            steps: Sequence[int] | np.ndarray = STEPS) -> dict[str, pd.DataFrame]:  # fmt: skip
    frames = [
        pd.DataFrame({"step": steps, "cka": curve, "subset": subset})
        for subset, curve in (("easy", easy), ("difficult", difficult))
    ]
    about = {"split": "train", "layer": "total", "layer_index": -1, "centring": "class"}
    return {"alignment": pd.concat(frames).assign(**about)}


def hierarchy(experiments: Sequence[str], easy: Curve, difficult: Curve) -> list[Record]:
    return [record(experiment, subsets(easy, difficult)) for experiment in experiments]


def easy_first(holds: bool) -> list[Record]:
    rows = {"easy": (0.1, 0.6, 0.9, 1, 1), "difficult": (0.1, 0.1, 0.2, 0.6, 1)}
    curves = rows if holds else dict(zip(rows, reversed(rows.values()), strict=True))
    evals = pd.concat(
        pd.DataFrame({"step": STEPS, "split": "train", "subset": subset, "accuracy": curve})
        for subset, curve in curves.items()
    )
    return [record(experiment, {"evals": evals}) for experiment in HIERARCHY]


def logistic(middle: float, width: float, height: float = 1.0) -> np.ndarray:
    return height / (1 + np.exp(-(np.log1p(FINE) - middle) / width))


def depths(curve: Callable[[int], tuple[np.ndarray, np.ndarray]], holds: bool) -> list[Record]:
    """One seed's sweep; where it fails the networks are handed out in the opposite order."""
    places = (0, 1, 2) if holds else (2, 1, 0)
    return [
        record("easy_difficult_depth", subsets(*curve(place), FINE), **{"model.depth": depth})
        for place, depth in zip(places, (3, 6, 9), strict=True)
    ]


def bump(place: int) -> tuple[np.ndarray, np.ndarray]:
    """High for fewer iterations from place to place, and for more decades of them."""
    first = 1000 / 10**place
    return high(first, first + 3000 - 1000 * place)


def late_bump(place: int) -> tuple[np.ndarray, np.ndarray]:
    """High for more iterations from place to place, and for fewer decades of them."""
    return high(10 * 4**place, 1000 + 1000 * place)


def high(first: float, last: float) -> tuple[np.ndarray, np.ndarray]:
    return np.where((first <= FINE) & (last > FINE), 0.5, 0.1), np.full(len(FINE), 0.1)


# Figure 6


def sweeps(measure: str, follows: bool, loss: float = 0.01) -> list[Record]:
    found = []
    for experiment in measures.PANELS:
        for place in range(4):
            values = {
                measure: float(place if follows else -place),
                measures.GAP: 0.1 * place,
                "train_loss": loss,
            }
            table = pd.DataFrame({"step": 9, "measure": list(values), "value": values.values()})
            complexity = pd.DataFrame(
                {"step": [8, 9], "complexity": [0.0, values.get(measures.OURS, 1.0)]}
            )
            tables = {"measures": table, "complexity": complexity}
            found.append(record(experiment, tables, **{axes(experiment)[0]: 1 + place}))
    return found


# Figure 7


def directions(singular: np.ndarray, random: float) -> list[Record]:
    rows = [("singular", singular), ("random", np.full(50, random))]
    table = pd.concat(
        pd.DataFrame({"kind": kind, "index": range(50), "variation": values})
        for kind, values in rows
    )
    return [record("vgg11_directions", {"directions": table.assign(step=9, method="perturbation")})]


FALLING = np.geomspace(100, 1, 50)

# Figure 8


def modes(frequency: np.ndarray, decay: float = 0.004, share: float = 0.9) -> list[Record]:
    count = len(frequency)
    eigenvalues = decay ** (np.arange(count) / 9)
    table = pd.DataFrame(
        {"seed": 0, "mode": range(count), "frequency": frequency, "eigenvalue": eigenvalues}
    ).assign(share=share)
    return [record("fourier_modes", {"peak_frequency": table})]


PAIRS = np.arange(50) / 2

# Figures 5 and 9


def to_the_letter(last: float) -> list[Record]:
    (run,) = supernat(LEARNING, (1, 0.1, 0.05, 0.2, 0.4))
    kappas = pd.DataFrame({"step": STEPS, "error": (1, 0.5, 0.3, 0.2, last)})
    letter = kappas.assign(kappa="none", loss="mean", seed=0)
    other = kappas.assign(kappa="none", loss="half_sum", seed=0, error=np.inf)
    return [record("supernat", {**run.tables, "kappa_error": pd.concat([letter, other])})]


def proposition(statement: str, holds: bool) -> list[Record]:
    return one_table("supernat", "propositions", statement=[statement, "another"], seed=[0, 0],
                     error=[1e-12 if holds else 1e-3, 0.5])  # fmt: skip


def supernat(natural: Curve, descent: Curve) -> list[Record]:
    curves = {"supernat": natural, "gradient_descent": descent}
    table = pd.concat(
        pd.DataFrame({"algorithm": name, "step": STEPS, "error": curve})
        for name, curve in curves.items()
    )
    return [record("supernat", {"test_error": table.assign(seed=0)})]


def scaling(l2: Curve, optimised: Curve, error: Curve = (0.5, 0.02, 0.01)) -> list[Record]:
    table = pd.DataFrame(
        {"c": (0.0, 0.5, 0.99), "test_error": error, "l2_bound": l2, "optimised_bound": optimised}
    )
    return [record("feature_scaling", {"scaling": table}, **{"study.half_width": 3.0})]


def scatter(last: float) -> list[Record]:
    """Points around the origin, twice as wide as high at c = 0."""
    rows = [
        pd.DataFrame({"c": c, "first": 9 * [-1.0, 1, 0, 0], "second": 9 * [0, 0, -wide, wide]})
        for c, wide in ((0.0, 2.0), (0.99, last))
    ]
    solutions = {"solutions": pd.concat(rows)}
    return [record("feature_scaling", solutions, **{"study.half_width": 3.0})]


# Theorems


def one_table(experiment: str, table: str, **columns: object) -> list[Record]:
    return [record(experiment, {table: pd.DataFrame(columns)})]


def slopes(slope: float) -> list[Record]:
    return one_table("local_bias", "local_bias_slope", seed=[0, 0], iteration=[0, 1000],
                     eta_to=[1e-4, 1e-4], slope=[slope, 9.0])  # fmt: skip


def bound(table: str, value: str, limit: str, holds: bool) -> list[Record]:
    return one_table(
        "rademacher", table, **{value: [0.5, 0.9 if holds else 1.1], limit: [1.0, 1.0]}
    )


def _fig02() -> dict[str, Example]:
    noise50 = ["vgg19_noise50"]
    found: dict[str, Example] = {
        "fig02-early-increase": early_growth,
        "fig02-early-anisotropy": early_anisotropy,
        "fig02-max-growth": growth,
        "fig02-mean-growth": growth,
        "fig02-anisotropic-growth": early_anisotropic,
        "fig02-anisotropic-growth-fitted": anisotropic,
        "fig02-early-drop": lambda holds: ranks(ALL, 600, *3 * [200 if holds else 500], 100),
        "fig02-erank-drop-clean": partial(drop, "vgg19_clean"),
        "fig02-erank-drop-noise50": partial(drop, "vgg19_noise50"),
        "fig02-uncentred-drop": lambda holds: as_it_is(
            ranks(ALL, 600, *3 * [200 if holds else 500], 100)
        ),
        "fig02-uncentred-anisotropy": lambda holds: as_it_is(early_anisotropy(holds)),
        "fig02-t80-t160": lambda holds: ranks(ALL, 600, *4 * [200 if holds else 550]),
        "fig02-fits": fitting,
        "fig02-accuracy-falls": lambda holds: vgg(
            noise50, *5 * [flat(300)], test=OVERFITTING if holds else LEARNING
        ),
        "fig02-t40": lambda holds: ranks(ALL, 600, *4 * [50 if holds else 100]),
        "fig02-train-test-likeness": likeness,
        "fig02-low-while-learning": lambda holds: ranks(
            noise50, 600, 100, 100 if holds else 500, 500, 500
        ),
        "fig02-erank-against-accuracy": lambda holds: ranks(
            noise50, 600, *((300, 100, 200, 250) if holds else (100, 300, 200, 150))
        ),
        "fig02-late-rise": lambda holds: ranks(
            noise50, *((600, 100, 100, 300, 400) if holds else (50, 100, 300, 400, 500))
        ),
        "fig02-various-anisotropy": lambda holds: early_anisotropy(holds, VARIOUS),
        "fig02-various-drop": lambda holds: ranks(VARIOUS, 600, *4 * [200 if holds else 500]),
        "fig14-early-drop": lambda holds: ranks(
            ("vgg19_clean_lr003", "vgg19_noise50_lr003"), 600, *4 * [200 if holds else 500]
        ),
    }
    for name in ("clean", "noise50"):
        found[f"fig14-level-{name}"] = partial(slow, f"vgg19_{name}")
        found[f"fig14-rate-enhances-{name}"] = partial(rates, f"vgg19_{name}")
        found[f"fig14-rate-lowers-rank-{name}"] = partial(lower, f"vgg19_{name}")
    return found


def _level(experiment: str, expected: int, holds: bool) -> list[Record]:
    return notebook(experiment, lambda step: expected if holds else expected - 60)


def _second_rise(experiment: str, rises: bool, holds: bool) -> list[Record]:
    return notebook(experiment, stairs((0, 180), (50_000, 520 if rises is holds else 180)))


def _notebooks() -> dict[str, Example]:
    found: dict[str, Example] = {}
    for experiment in ALL:
        name = experiment.removeprefix("vgg19_")
        early = notebooks.EARLY_MINIMUM[experiment]
        found[f"fig02-notebook-early-minimum-{name}"] = partial(_level, experiment, early)
        for step, expected in notebooks.LEVELS[experiment].items():
            found[f"fig02-notebook-level-{name}-{step}"] = partial(_level, experiment, expected)
        rise = partial(_second_rise, experiment, experiment != "vgg19_clean")
        found[f"fig02-notebook-second-rise-{name}"] = rise
    clean, noise50 = "vgg19_clean", "vgg19_noise50"
    return found | {
        "fig02-notebook-accuracy-falls": lambda holds: notebook(
            noise50, accuracy=stairs((0, 0.1), (9000, 0.78), (50_000, 0.52 if holds else 0.77))
        ),
        "fig03-notebook-total": lambda holds: notebook(
            clean, train=stairs((0, 0.01), (9000, 0.25 if holds else 0.1))
        ),
        "fig03-notebook-layers": lambda holds: notebook(clean, layer=0.5 if holds else 0.3),
        "fig03-notebook-train-low": lambda holds: notebook(
            noise50, train=stairs((0, 0.02), (5000, 0.05 if holds else 0.1), (50_000, 0.3))
        ),
        "fig03-notebook-test-falls": lambda holds: notebook(
            noise50, test=stairs((0, 0.01), (9000, 0.1), (50_000, 0.05 if holds else 0.09))
        ),
    }


def c_and_one_other(holds: bool) -> list[Record]:
    """One of them puts the networks in the order of their gaps, the other in the opposite one."""
    found = []
    for run in sweeps("complexity", follows=holds):
        table = run.tables["measures"]
        other = table[table["measure"] == "complexity"].assign(measure="l2_norm")
        both = pd.concat([table, other.assign(value=-other["value"])])
        found.append(replace(run, tables={**run.tables, "measures": both}))
    return found


def one_of_the_others(holds: bool) -> list[Record]:
    return sweeps("l2_norm", follows=not holds)


def large_nets(holds: bool) -> list[Record]:
    found = []
    for run in sweeps("complexity", follows=holds):
        if run.experiment == "complexity_channels":
            size = pd.DataFrame({"step": 9, "measure": ["parameters"], "value": [1e6 * run.axis]})
            table = pd.concat([run.tables["measures"], size])
            found.append(replace(run, tables={**run.tables, "measures": table}))
    return found


def _fig06() -> dict[str, Example]:
    ours = ("complexity", *measures.NEYSHABUR)
    found: dict[str, Example] = {
        f"fig06-{name.replace('_', '-')}": partial(sweeps, name) for name in ours
    }
    return found | {
        "fig06-better": c_and_one_other,
        "fig06-others": one_of_the_others,
        "fig06-four-million": large_nets,
    }


EXAMPLES: dict[str, Example] = {
    "fig01-ratio-at-start": lambda holds: disk(at_start=0.014 if holds else 0.0002),
    "fig01-ratio-at-end": lambda holds: disk(at_end=0.0021 if holds else 0.01),
    "fig01-anisotropy": lambda holds: disk(at_end=0.01 if holds else 0.02),
    "fig01-anisotropy-uncentred": lambda holds: disk(
        at_end=0.01 if holds else 0.02, name="disk_uncentred"
    ),
    "fig01-class-share": lambda holds: disk_functions(at_start=False, at_end=holds),
    "fig01-class-structure": lambda holds: disk_functions(not holds, holds),
    "fig01-rotation-invariance": lambda holds: disk_functions(True, holds),
    "fig10-labels": lambda holds: disk(right=holds),
    "fig10-training-set": lambda holds: disk(training=500 if holds else 400),
    "fig10-lattice": lambda holds: disk(side=50 if holds else 40),
    **_fig02(),
    "fig03-train-cka-rises": partial(rising, ALL, "class"),
    "fig03-test-cka-rises": partial(rising, ALL, "class"),
    "fig03-intermediate-layers": lambda holds: layers(
        (0.1, 0.6, 0.7, 0.8 if holds else 0.3, 0.2, 0.2, 0.9)
    ),
    "fig03-top-layers": lambda holds: layers((0.1, 0.6, 0.7, *2 * [0.2 if holds else 0.7])),
    "fig03-test-above-train": lambda holds: aligned(
        ["vgg19_noise50"], LEVEL, RISING if holds else LEVEL
    ),
    "fig03-clean-labels": lambda holds: with_clean_labels(
        LEVEL if holds else RISING, RISING if holds else LEVEL
    ),
    "fig03-given-labels-later": lambda holds: with_clean_labels(
        RISING if holds else LEVEL, LEVEL if holds else RISING
    ),
    "fig03-peaks-together": lambda holds: layers_peak(2 if holds else 4),
    **_notebooks(),
    "fig04-easy-higher": lambda holds: hierarchy(
        HIERARCHY, *((RISING, LEVEL) if holds else (LEVEL, RISING))
    ),
    "fig04-ratio-rises": lambda holds: hierarchy(
        HIERARCHY, RISING if holds else LEVEL, LEVEL if holds else RISING
    ),
    "fig04-easy-first": easy_first,
    "fig04-easy-faster": lambda holds: hierarchy(HIERARCHY, RISING, LEVEL if holds else RISING),
    "fig04-kmnist-rises": lambda holds: hierarchy(
        HIERARCHY[1:], (0.1, 0.3, 0.5, 0.5, 0.5), (0.1, 0.1, 0.1, 0.1, 0.4 if holds else 0.1)
    ),
    "fig04-kmnist-later": lambda holds: hierarchy(
        HIERARCHY[1:],
        *[(0.1, 0.4, 0.5, 0.5, 0.5), (0.1, 0.1, 0.1, 0.2, 0.4)][:: 1 if holds else -1],
    ),
    "fig13-magnified": partial(
        depths, lambda place: (logistic(5, 0.5, 1 + place), logistic(6, 0.5))
    ),
    "fig13-starts-later": partial(
        depths, lambda place: (logistic(4 + place, 0.3), logistic(6, 0.3))
    ),
    "fig13-rises-faster": partial(
        depths, lambda place: (logistic(5, 0.5, 1 + place), logistic(6, 0.5))
    ),
    "fig13-rises-shorter": partial(
        depths, lambda place: (logistic(5, 0.9 - 0.2 * place), logistic(6, 0.3))
    ),
    "fig13-higher-ratio": partial(
        depths, lambda place: (logistic(5, 0.5, 1 + place), logistic(6, 0.5))
    ),
    "fig13-shorter": partial(depths, bump),
    "fig13-shorter-decades": partial(depths, late_bump),
    "fig05-supernat-below": lambda holds: supernat(
        (1, 0.1, 0.06, 0.06, 0.06), (1, 0.1, 0.2, 0.3, 0.4 if holds else 0.01)
    ),
    "fig05-letter-of-17": lambda holds: to_the_letter(0.2 if holds else 0.9),
    "fig05-supernat-freezes": lambda holds: one_table(
        "supernat",
        "kernel_alignment",
        algorithm=["supernat"] * 3,
        step=[0, 500, 1000],
        noise_left=[1.0, 0.4, 0.4 if holds else 0.01],
    ),
    "fig05-supernat-stretches": lambda holds: one_table(
        "supernat",
        "kernel_alignment",
        algorithm=["supernat"] * 2,
        step=[0, 1],
        ratio=[6.0, 9.0 if holds else 0.1],
    ),
    "fig05-descent-overfits": lambda holds: supernat(
        LEARNING, (1, 0.1, 0.05, 0.2, 0.4 if holds else 0.04)
    ),
    **_fig06(),
    "fig07-top-directions": lambda holds: directions(FALLING, 0.5 if holds else 50.0),
    "fig07-random-directions": lambda holds: directions(FALLING, 0.5 if holds else 50.0),
    "fig07-hierarchy": lambda holds: directions(FALLING if holds else np.full(50, 1.0), 0.1),
    "fig08-frequency-order": lambda holds: modes(PAIRS if holds else PAIRS[::-1]),
    "fig08-first-half": lambda holds: modes(PAIRS if holds else PAIRS[::-1]),
    "fig08-fourier-modes": lambda holds: modes(PAIRS, share=0.9 if holds else 0.3),
    "fig08-decay": lambda holds: modes(PAIRS, decay=0.004 if holds else 0.5),
    "fig09-scatter": lambda holds: scatter(20.0 if holds else 4.0),
    "fig09-l2-loose": lambda holds: scaling((1, 0.5, 2.0 if holds else 0.5), (0.8, 0.4, 0.4)),
    # Of white features, c = 0, the claim says nothing.
    "fig09-l2-shape": lambda holds: scaling(
        (3.0, 0.5, 2.0) if holds else (0.1, 0.5, 0.2), (0.8, 0.4, 0.4)
    ),
    "fig09-optimised-falls": lambda holds: scaling((1, 1, 1), (0.8, 0.4, 0.4 if holds else 1.0)),
    "fig09-optimised-flat": lambda holds: scaling((1, 1, 1), (0.8, 0.4, 0.4 if holds else 1.0)),
    "fig11-rise": partial(rising, NETWORKS, "class"),
    "fig12-rise-none": partial(uncentred, "none"),
    "fig12-rise-labels": partial(uncentred, "labels"),
    "lemma1-order": lambda holds: slopes(2.0 if holds else 1.0),
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
        "linear_modes",
        "time_constants",
        measured=[0.0, 2.0 if holds else 0.5],
        predicted=[0.0, 2.0],
    ),
}
