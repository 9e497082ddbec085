"""The adapted kernel of a trained network, and all numbers taken from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import torch
from torch import Tensor

from ntkexp.probes.adapted_kernel import (
    ANGLES,
    CELLS,
    CKAS,
    COSINES,
    EXAMPLES,
    FIFTHS,
    FITS,
    IDENTITY,
    LABELS,
    LAYERS,
    PREMISE,
    SIZES,
    AdaptedKernel,
)
from ntkexp.probes.computations.adaptation import Adaptation, at, changes, distance, numbers
from ntkexp.probes.view import View
from ntkexp.results.table import Rows, Table
from ntkexp.seeds import generator
from ntkexp.tangent import tangent_kernel
from ntkexp.tangent.average_features import RULES
from ntkexp.theory.adaptive.kernels import (
    correlation,
    cosine,
    fifth_means,
    norm_ratio,
    principal_cosines,
    principal_directions,
    ranks,
)
from ntkexp.theory.alignment import label_cka
from ntkexp.theory.centring import centre, centre_labels
from ntkexp.theory.float64 import Array, array

PATH_POINTS = 10  # at which the leading directions of K_t - K_0 are compared


def measured(view: View, start: Mapping[str, Tensor], probe: AdaptedKernel) -> Rows:
    found = Adaptation.of(
        view, start, examples=probe.examples, points=probe.points, rule=probe.integration
    )
    rows: dict[str, Mapping[str, object]] = {
        SIZES.name: _columns(SIZES, sizes(found)),
        COSINES.name: _columns(COSINES, cosines(found)),
        FITS.name: _columns(FITS, fits(found)),
        LAYERS.name: _columns(LAYERS, layers(found)),
        IDENTITY.name: _columns(
            IDENTITY, ((rule, probe.points, found.average.error(rule)) for rule in RULES)
        ),
        PREMISE.name: _columns(PREMISE, premise(found)),
    }
    if found.linear is not None:
        rows[FIFTHS.name] = _columns(FIFTHS, fifths(found))
    if probe.list_examples:
        rows[EXAMPLES.name] = examples(found)
    if probe.cells:
        rows[CELLS.name] = _columns(CELLS, cells(found, probe.cells))
    if probe.shuffles:
        draws = generator(view.seed, "shuffled labels")
        rows[CKAS.name] = _columns(CKAS, ckas(found, probe.shuffles, draws))
    if probe.angles:
        rows[ANGLES.name] = _columns(ANGLES, angles(found, probe.angles))
    return rows


def sizes(found: Adaptation) -> Iterable[tuple[object, ...]]:
    for name, kernel in found.kernels.items():
        for layer, gram in {"total": kernel.gram, **kernel.layers}.items():
            yield name, layer, *_size(numbers(gram))
    for layer, change in changes(found).items():
        yield "change", layer, *_size(change)


def _size(K: Array) -> tuple[float, float, float]:
    return float(np.linalg.norm(K)), float(K.max()), float(np.trace(K))


def cosines(found: Adaptation) -> Iterable[tuple[object, ...]]:
    for first in found.kernels:
        others = {label: found.label(label) for label in LABELS}
        others |= {name: found.kernel(name) for name in found.kernels if name != first}
        K = found.kernel(first)
        for second, other in others.items():
            yield first, second, cosine(K, other), norm_ratio(K, other)


def fits(found: Adaptation) -> Iterable[tuple[object, ...]]:
    for label in LABELS:
        for linear in (False, True) if found.linear is not None else (False,):
            one = found.fit(label, linear=linear)
            a, b = one.coefficients["a"], one.coefficients["b"]
            yield label, 2 + linear, a, b, one.coefficients.get("c", np.nan), one.r2


def layers(found: Adaptation) -> Iterable[tuple[object, ...]]:
    moves = found.average.moves[found.rule]
    norms = {layer: float(np.linalg.norm(K)) for layer, K in changes(found).items()}
    total = sum(norm for layer, norm in norms.items() if layer != "total")
    linear = found.linear
    for layer, moved in moves.items():
        values = numbers(moved)
        yield (
            layer,
            norms[layer] / total if total > 0 else np.nan,
            float(np.linalg.norm(values)),
            distance(found, layer),
            correlation(values, found.targets),
            correlation(values, linear) if linear is not None else np.nan,
            correlation(values, found.task_residual) if linear is not None else np.nan,
        )


def premise(found: Adaptation) -> Iterable[tuple[object, ...]]:
    r, square = found.residual.ravel(), distance(found) ** 2
    for name in found.kernels:
        K = found.kernel(name)
        # What a float32 kernel does not hold is left out.
        cut = len(K) * float(np.finfo(np.float32).eps)
        least = float(r @ np.linalg.pinv(K, rcond=cut, hermitian=True) @ r)
        yield name, least, square


def fifths(found: Adaptation) -> Iterable[tuple[object, ...]]:
    assert found.linear is not None
    before, diagonal = (array(np.diag(found.kernel(name))) for name in ("initial", "average"))
    # An example that no unit sees has no gradient, and there is nothing to compare with.
    nothing = np.full_like(diagonal, np.nan)
    statistics = {
        "diagonal": diagonal,
        "relative": array(np.divide(diagonal, before, out=nothing, where=before > 0)),
        "remainder": array(np.diag(found.fit("residual").remainder)),
    }
    size = np.abs(found.linear)
    for name, values in statistics.items():
        low, high = fifth_means(values, size)
        yield name, low, high, correlation(ranks(values), ranks(size))


def examples(found: Adaptation) -> dict[str, object]:
    assert found.linear is not None
    order = np.argsort(found.linear, kind="stable")
    columns = {
        "linear": found.linear,
        "target": found.targets[:, 0],
        "start": found.outputs_at_start[:, 0],
        "output": found.outputs[:, 0],
        "initial": np.diag(found.kernel("initial")),
        "average": np.diag(found.kernel("average")),
        "remainder": np.diag(found.fit("residual").remainder),
    }
    assert [*columns] == [name for name in EXAMPLES.columns if name not in ("step", "example")]
    return {"example": np.arange(len(order)), **{k: v[order] for k, v in columns.items()}}


def cells(found: Adaptation, side: int) -> Iterable[tuple[object, ...]]:
    assert found.linear is not None
    order = np.argsort(found.linear, kind="stable")
    bounds = np.linspace(0, len(order), min(side, len(order)) + 1).astype(int)
    kernels = {name: found.kernel(name) for name in ("initial", "average")}
    kernels["residual"] = found.label("residual")
    for name, K in kernels.items():
        K = K[np.ix_(order, order)]
        sums = np.add.reduceat(np.add.reduceat(K, bounds[:-1], 0), bounds[:-1], 1)
        means = sums / np.outer(np.diff(bounds), np.diff(bounds))
        for (row, column), value in np.ndenumerate(means):
            yield name, row, column, value


def ckas(found: Adaptation, shuffles: int, draws: torch.Generator) -> Iterable[tuple[object, ...]]:
    orders = [torch.randperm(len(found.targets), generator=draws).numpy() for _ in range(shuffles)]
    for name in found.kernels:
        K = array(centre(found.kernel(name), found.targets.shape[1], "class"))
        own, *null = (
            label_cka(K, centre_labels(found.targets[order], "class"))
            for order in (np.arange(len(found.targets)), *orders)
        )
        yield name, own, float(np.mean(null)), max(null), shuffles


def angles(found: Adaptation, count: int) -> Iterable[tuple[object, ...]]:
    """Of the leading directions of K_t - K_0 with those of K - K_0."""
    ends = {name: weight.detach().clone() for name, weight in found.network.named_parameters()}
    initial = found.kernel("initial")
    average = principal_directions(found.kernel("average") - initial, count)
    for t in np.linspace(0, 1, PATH_POINTS + 1)[1:]:
        between = {
            name: (1 - float(t)) * weight + float(t) * ends[name]
            for name, weight in found.start.items()
        }
        K = numbers(tangent_kernel(at(found.network, between), found.inputs, layers=False).gram)
        here = principal_directions(K - initial, count)
        for index, value in enumerate(principal_cosines(here, average), start=1):
            yield float(t), index, float(value)


def _columns(table: Table, rows: Iterable[tuple[object, ...]]) -> dict[str, list[object]]:
    names = [name for name in table.columns if name != "step"]
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
