"""The panels that the page plots of a run, as plain data: curves, spectra and images by step.

Numbers are rounded to four digits and long curves sampled on a log scale: the page is for looking,
the tables beside it are for computing.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ntkexp.data.points import RADIUS
from ntkexp.results.numbers import evals
from ntkexp.results.numbers.curves import (
    cka,
    effective_ranks,
    has_centring,
    layer_cka,
    spectra,
    trace_ratio,
)
from ntkexp.results.record import Record
from ntkexp.theory.float64 import Array

Panel = dict[str, Any]
Series = dict[str, Any]

SPLITS = ("train", "test")
POINTS = 160
RANKS = 120
HIGHLIGHTED = (40, 80, 160)
FUNCTIONS = 8
BYTE = 127


def panels(record: Record) -> list[Panel]:
    """Every panel for which the run has tables."""
    return [panel for builder in builders(record) for panel in builder(record)]


def builders(record: Record) -> list[Callable[[Record], Iterator[Panel]]]:
    """The panels that a run's tables allow."""
    return [
        builder
        for needed, builder in BUILDERS
        if all(name in record.tables and len(record.tables[name]) for name in needed)
    ]


def curves(title: str, y: str, series: Sequence[Series], **options: object) -> Panel:
    """A panel of lines over a common axis; `x` is the iteration unless told."""
    return {"kind": "curves", "title": title, "x": "iteration", "y": y, "logx": True,
            "series": list(series)} | options  # fmt: skip


def line(name: str, x: Iterable[float], y: Iterable[float], **options: object) -> Series:
    """One line: `split` lets it be switched off with its split, `layer` (0 to 1) colours it."""
    xs, ys = sampled(np.asarray(list(x), float), np.asarray(list(y), float))
    return {"name": name, "x": rounded(xs), "y": rounded(ys)} | options


def sampled(x: Array, y: Array) -> tuple[Array, Array]:
    if len(x) <= POINTS:
        return x, y
    places = np.unique(np.geomspace(1, len(x), POINTS).round().astype(int)) - 1
    return x[places], y[places]


def rounded(values: Iterable[float]) -> list[float | int | None]:
    """Four digits; what is no finite number is null, as JSON has it.

    >>> rounded([1.23456, 20.0, float("nan")])
    [1.235, 20, None]
    """
    return [_short(float(value)) for value in values]


def _short(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    if value == int(value) and abs(value) < 1e15:
        return int(value)
    return float(f"{value:.4g}")


def _by_split(name: str, curve: Callable[[str], pd.Series]) -> list[Series]:
    return [
        line(f"{name}{split}", values.index, values, split=split)
        for split in SPLITS
        if len(values := curve(split))
    ]


def _accuracy(record: Record) -> Iterator[Panel]:
    subsets = [name for name in record.tables["evals"]["subset"].unique() if name != "all"]
    series = _by_split("", lambda split: evals.curve(record.tables["evals"], split))
    for subset in subsets:
        values = evals.curve(record.tables["evals"], "train", str(subset))
        series.append(line(str(subset), values.index, values, split="train"))
    yield curves("Accuracy", "accuracy", series)


def _spectrum(record: Record) -> Iterator[Panel]:
    spectrum = record.tables["spectrum"]
    tables = {split: spectra(spectrum, split) for split in SPLITS}
    yield curves(
        "Eigenvalues",
        "eigenvalue",
        [
            line(f"{by}, {split}", table.index, table.agg(by, axis=1), split=split, colour=place)
            for split, table in tables.items()
            for place, by in enumerate(("max", "mean", "median"))
        ],
        logy=True,
    )
    yield curves(
        "Effective rank",
        "effective rank",
        _by_split("", lambda split: effective_ranks(spectrum, split)),
    )
    size = len(tables["train"].columns)
    ratios = [
        line(f"T{k}, {split}", values.index, values, split=split, colour=place)
        for split in SPLITS
        for place, k in enumerate(k for k in HIGHLIGHTED if k < size)
        for values in [trace_ratio(spectrum, k, split)]
    ]
    if ratios:
        yield curves("Trace ratios", "share of the trace", ratios)
    ranks = np.unique(np.geomspace(1, size, RANKS).round().astype(int))
    yield {
        "kind": "spectrum",
        "title": "Spectrum",
        "x": "rank",
        "y": "eigenvalue",
        "steps": [int(str(step)) for step in tables["train"].index],
        "ranks": ranks.tolist(),
        "splits": {
            split: [rounded(row[ranks - 1]) for row in table.to_numpy()]
            for split, table in tables.items()
        },
    }


def _alignment(record: Record) -> Iterator[Panel]:
    frame = record.tables["alignment"]
    series = _by_split("", lambda split: cka(frame, split))
    if has_centring(frame, "none"):
        for split in SPLITS:
            values = cka(frame, split, centring="none")
            series.append(line(f"uncentred, {split}", values.index, values, split=split, colour=1))
    yield curves("Alignment with the labels", "CKA", series)
    if "easy" in set(frame["subset"]):
        both = {name: cka(frame, "train", subset=name) for name in ("easy", "difficult")}
        yield curves(
            "Alignment, easy and difficult examples",
            "CKA",
            [line(name, curve.index, curve, colour=k) for k, (name, curve) in
             enumerate(both.items())],
        )  # fmt: skip
    for split in SPLITS:
        table = layer_cka(frame, split)
        if len(table.columns):
            yield _layers(f"Alignment by layer, {split}", table, split)


def _layers(title: str, table: pd.DataFrame, split: str) -> Panel:
    last = max(len(table.columns) - 1, 1)
    series = [
        line(f"layer {place + 1}", table.index, table[name], split=split, layer=place / last)
        for place, name in enumerate(table.columns)
    ]
    return curves(title, "CKA", series, layers=True)


def _eigenfunctions(record: Record) -> Iterator[Panel]:
    """Images as signed bytes, each on a scale of its own: only the shape matters."""
    frame = record.tables["eigenfunctions"]
    points = record.tables["points"]
    lattice = points[points["split"] == "test"].set_index("point").sort_values(["y", "x"])
    side = round(len(lattice) ** 0.5)
    values = record.tables["eigenvalues"].pivot(index="step", columns="rank", values="eigenvalue")
    shares = values.div(values[1], axis=0)
    ranks = sorted(frame["rank"].unique())[:FUNCTIONS]
    images = {}
    for step, now in frame[frame["rank"].isin(ranks)].groupby("step"):
        table = now.pivot(index="point", columns="rank", values="value").loc[lattice.index]
        shapes = table.to_numpy() / np.abs(table.to_numpy()).max(axis=0)
        images[int(str(step))] = (BYTE * shapes).round().astype(np.int8).T.tobytes()
    yield {
        "kind": "images",
        "title": "Eigenfunctions on the square",
        "steps": list(images),
        "ranks": [int(rank) for rank in ranks],
        "side": side,
        "radius": RADIUS,
        "shares": [rounded(row) for row in shares.loc[list(images), ranks].to_numpy()],
        "images": [base64.b64encode(image).decode() for image in images.values()],
    }
    yield curves(
        "Eigenvalues over the first",
        "λ / λ1",
        [
            line(f"λ{rank}", shares.index, shares[rank], colour=place)
            for place, rank in enumerate((2, 5, 10, 20))
            if rank in shares
        ],
        logy=True,
    )


def _complexity(record: Record) -> Iterator[Panel]:
    frame = record.tables["complexity"].iloc[1:]
    yield curves("Complexity C", "C", [line("C", frame["step"], frame["complexity"])], logy=True)
    yield curves(
        "Norm of the features", "√Tr K",
        [line("√Tr K", frame["step"], np.sqrt(frame["trace"]))], logy=True,
    )  # fmt: skip


def _directions(record: Record) -> Iterator[Panel]:
    frame = record.tables["directions"]
    if "step" not in frame:
        return  # a table of this name that a study has, of directions of the inputs
    last = frame[(frame["step"] == frame["step"].max()) & (frame["method"] == "perturbation")]
    series = [
        line(str(kind), part["index"] + 1, part["variation"], colour=place)
        for place, (kind, part) in enumerate(last.groupby("kind", sort=False))
    ]
    yield curves("Output variation by direction", "variation", series,
                 x="direction", logx=False, logy=True)  # fmt: skip


def _supernat(record: Record) -> Iterator[Panel]:
    frame = record.tables["test_error"]
    means = frame.pivot_table(index="step", columns="algorithm", values="error")
    series = [
        line(str(name).replace("_", " "), means.index, means[name], colour=place)
        for place, name in enumerate(means)
    ]
    yield curves("Clean test error, mean over seeds", "error", series, logy=True)


def _scaling(record: Record) -> Iterator[Panel]:
    means = record.tables["scaling"].groupby("c").mean(numeric_only=True)
    series = [
        line(name.replace("_", " "), means.index, means[name], colour=place)
        for place, name in enumerate(("l2_bound", "optimised_bound", "test_error"))
    ]
    yield curves("Bounds and test error", "value", series, x="scaling factor c", logx=False)


def _fourier(record: Record) -> Iterator[Panel]:
    frame = record.tables["peak_frequency"]
    for y, title in (("frequency", "Peak frequency"), ("eigenvalue", "Eigenvalue")):
        series = [
            line(f"seed {seed}", part["mode"], part[y].where(part[y] > 0) if y == "eigenvalue"
                 else part[y], colour=place)
            for place, (seed, part) in enumerate(frame.groupby("seed"))
        ]  # fmt: skip
        yield curves(title, y, series, x="eigenvector", logx=False, logy=y == "eigenvalue")


def _local_bias(record: Record) -> Iterator[Panel]:
    frame = record.tables["local_bias_error"]
    medians = frame.pivot_table(index="eta", columns="iteration", values="error", aggfunc="median")
    series = [
        line(f"iteration {name}", medians.index, medians[name], colour=place)
        for place, name in enumerate(medians)
    ]
    yield curves("What Lemma 1 leaves out", "norm", series, x="learning rate", logy=True)


Builder = Callable[[Record], Iterator[Panel]]

BUILDERS: tuple[tuple[tuple[str, ...], Builder], ...] = (
    (("eigenfunctions", "points", "eigenvalues"), _eigenfunctions),
    (("spectrum", "evals"), _spectrum),
    (("alignment",), _alignment),
    (("complexity",), _complexity),
    (("directions",), _directions),
    (("test_error",), _supernat),
    (("scaling",), _scaling),
    (("peak_frequency",), _fourier),
    (("local_bias_error",), _local_bias),
    (("evals",), _accuracy),
)
