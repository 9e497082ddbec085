"""The adapted kernel: that of the average tangent features between the first weights and the last.

K(x, x') = Phi(x) Phi(x')^T with Phi the mean of grad f along the segment from theta_0 to theta
(LeJeune and Alemohammad, "An Adaptive Tangent Feature Perspective of Neural Networks", equations
(2) and (7)), beside K_0, the kernel at the end, and label kernels r r^T (9): r = f - f_0
(`residual`), f (`output`) or the labels (`targets`). Measured at the last step, on the first
`examples` of the training set, or on all of a smaller one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from ntkexp.errors import UserError
from ntkexp.options import count, one_of, option, whole
from ntkexp.probes.adaptation import Adaptation, at, changes, distance, numbers
from ntkexp.probes.adapted_change import CHANGE, of_change
from ntkexp.probes.base import columns
from ntkexp.probes.initial_weights import RemembersStart
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float32, float64, int64, string
from ntkexp.seeds import generator
from ntkexp.tangent import tangent_kernel
from ntkexp.tangent.average_features import RULES, Rule
from ntkexp.theory.adaptive.kernels import (
    correlation,
    cosine,
    fifth_means,
    norm_ratio,
    principal_cosines,
    principal_directions,
    ranks,
)
from ntkexp.theory.alignment import centre, centre_labels, label_cka
from ntkexp.theory.float64 import Array, array

PATH_POINTS = 10  # at which the leading directions of K_t - K_0 are compared
LABELS = ("residual", "output", "targets")
KERNELS = "`initial`, `average` (the adapted kernel), `final`"
LABEL = string("whose label kernel: `residual` (f - f_0), `output` (f) or `targets`")

SIZES = Table(
    "adapted_sizes",
    "how large a kernel of one layer is, on the training examples",
    {
        "step": STEP,
        "kernel": string(f"{KERNELS}, or `change` (adapted less initial)"),
        "layer": string("`total`, or the name of a module"),
        "norm": float64("Frobenius norm"),
        "largest": float64("largest entry"),
        "trace": float64("sum of the diagonal"),
    },
)
COSINES = Table(
    "adapted_cosines",
    "the cosine of two kernels as matrices, not centred",
    {
        "step": STEP,
        "first": string(KERNELS),
        "second": string("another kernel, or a label kernel: `residual`, `output`, `targets`"),
        "cosine": float64("-1 to 1"),
        "ratio": float64("Frobenius norm of the first over that of the second"),
    },
)
FITS = Table(
    "adapted_fits",
    "a least-squares fit of the adapted kernel, K = a K_0 + b K_label + c K_linear",
    {
        "step": STEP,
        "label": LABEL,
        "parts": int64("kernels in the fit: 2, or 3 with the kernel of the linear targets"),
        "a": float64("coefficient of the initial kernel"),
        "b": float64("coefficient of the label kernel"),
        "c": float64("coefficient of the kernel of the linear targets; no number where not fitted"),
        "r2": float64("share of the variance of the entries that is explained"),
    },
    notes="Where the linear targets are those trained on, the second and third kernel are nearly "
    "alike and their coefficients say little.",
)
LAYERS = Table(
    "adapted_layers",
    "what one layer adds to the outputs, Phi_l (theta - theta_0)_l, and to the kernel's change",
    {
        "step": STEP,
        "layer": string("the name of a module"),
        "share": float64("|K_l - K_0l|_F over its sum over the layers"),
        "moved": float64("norm of what it adds to the outputs on all examples"),
        "distance": float64("norm of the change of its weights"),
        "with_targets": float64("Pearson correlation of what it adds with the targets"),
        "with_linear": float64("with the linear targets y (the same where those are trained on)"),
        "with_residual": float64("with sign(y) - alpha y; no number for classes"),
    },
)
IDENTITY = Table(
    "adapted_identity",
    "how far f - f_0 = Phi (theta - theta_0) is from holding with a rule of integration",
    {
        "step": STEP,
        "rule": string("`linspace` (the plain mean), `midpoint` or `trapezoid`"),
        "points": int64("points on the segment"),
        "error": float64("norm of the difference over that of f - f_0"),
    },
)
PREMISE = Table(
    "adapted_premise",
    "whether the network is the least solution in its own features: r^T K^+ r, r = f - f_0, is the "
    "squared length of the shortest change of weights that gives r",
    {
        "step": STEP,
        "kernel": string(KERNELS),
        "least": float64("r^T K^+ r"),
        "distance": float64("|theta - theta_0|^2, what the network did"),
    },
)
EXAMPLES = Table(
    "adapted_examples",
    "one training example, for networks of one output; in rising order of the linear target",
    {
        "step": STEP,
        "example": int64("its place in that order, from 0"),
        "linear": float32("the linear target y"),
        "target": float32("what was trained on"),
        "start": float32("the output at step 0"),
        "output": float32("the output now"),
        "initial": float32("K_0 of the example with itself"),
        "average": float32("the adapted kernel of the example with itself"),
        "remainder": float32("the diagonal of K - a K_0 - b K_residual of the fit"),
    },
)
FIFTHS = Table(
    "adapted_fifths",
    "a statistic of training examples by how near their linear target y is to 0, for networks of "
    "one output with numbers as targets",
    {
        "step": STEP,
        "statistic": string("`diagonal` (K_ii), `relative` (K_ii / K0_ii) or `remainder`"),
        "low": float64("its mean over the fifth of the examples with the least |y|"),
        "high": float64("its mean over the fifth with the largest"),
        "spearman": float64("rank correlation with |y|"),
    },
    notes="`remainder` is the diagonal of K - a K_0 - b K_residual of the fit.",
)
CELLS = Table(
    "adapted_cells",
    "the mean of a kernel over a cell of its matrix, examples in rising order of the linear target",
    {
        "step": STEP,
        "kernel": string("`initial`, `average` or `residual`"),
        "row": int64("of the cell, from 0"),
        "column": int64("of the cell, from 0"),
        "value": float32("mean of the entries"),
    },
)
CKAS = Table(
    "adapted_ckas",
    "CKA of a kernel with the labels, both centred by class, and with labels dealt out anew",
    {
        "step": STEP,
        "kernel": string(KERNELS),
        "cka": float64("with the labels, 0 to 1"),
        "shuffled": float64("mean over permutations of the labels among the examples"),
        "highest": float64("the largest of these"),
        "shuffles": int64("how many permutations"),
    },
)
ANGLES = Table(
    "adapted_angles",
    "the cosine of a principal angle between the leading directions of K_t - K_0 and of K - K_0",
    {
        "step": STEP,
        "t": float64("the place on the segment, above 0 to 1"),
        "index": int64("1 is the smallest angle"),
        "cosine": float64("0 to 1"),
    },
)


@dataclass
class AdaptedKernel(RemembersStart):
    """The error of the identity is written for all three rules; angles are those at ten points."""

    tables = (SIZES, COSINES, FITS, LAYERS, IDENTITY, PREMISE, FIFTHS, EXAMPLES, CELLS, CKAS,
              ANGLES, CHANGE)  # fmt: skip
    needs = frozenset({"network", "activations", "examples", "training"})
    looks_at = frozenset()
    tiny: ClassVar = {"points": 2}

    examples: int = option(500, count("examples"), "how many training examples")
    points: int = option(50, whole(2, 100_000, "points"), "points on the way of the weights")
    rule: str = option("linspace", one_of(*RULES), "how the mean over these points is taken")
    list_examples: bool = option(False, about="write a row for each example")
    cells: int = option(0, whole(0, 10_000, "cells a side"), "side of kernels kept as images")
    angles: int = option(0, whole(0, 10_000, "directions"), "leading directions to compare")
    shuffles: int = option(0, whole(0, 1_000_000, "permutations"), "to compare CKA with")

    def measure(self, view: View) -> Rows:
        self.remember(view)
        if view.step == 0:
            # Refused before the training, and not after it.
            self.refuse_classes(view)
        if not view.last or view.step == 0:
            return {}
        trained = Adaptation.of(
            view, self.start(), examples=self.examples, points=self.points, rule=self.integration
        )
        identity = ((rule, self.points, trained.average.error(rule)) for rule in RULES)
        written: list[tuple[Table, Iterable[tuple[object, ...]]]] = [
            (SIZES, sizes(trained)),
            (COSINES, cosines(trained)),
            (FITS, fits(trained)),
            (LAYERS, layers(trained)),
            (IDENTITY, identity),
            (PREMISE, premise(trained)),
        ]
        if trained.linear is not None:
            written += (FIFTHS, fifths(trained)), (CHANGE, of_change(trained, self.points))
        if self.cells:
            written.append((CELLS, cells(trained, self.cells)))
        if self.shuffles:
            draws = generator(view.seed, "shuffled labels")
            written.append((CKAS, ckas(trained, self.shuffles, draws)))
        if self.angles:
            written.append((ANGLES, angles(trained, self.angles)))
        listed = {EXAMPLES.name: examples(trained)} if self.list_examples else {}
        return {table.name: columns(table, rows) for table, rows in written} | listed

    def refuse_classes(self, view: View) -> None:
        """Refuse classes where examples are listed in the order of their targets."""
        targets = view.examples("train").targets
        numbers = targets.is_floating_point() and targets.dim() == 1
        if (self.list_examples or self.cells) and not numbers:
            raise UserError(
                "probe.adapted_kernel: list_examples and cells are for targets that are numbers; "
                "this data has classes; expected data=fitted_digits or its like"
            )

    @property
    def integration(self) -> Rule:
        return self.rule  # type: ignore[return-value]


def sizes(trained: Adaptation) -> Iterable[tuple[object, ...]]:
    for name, kernel in trained.kernels.items():
        for layer, gram in {"total": kernel.gram, **kernel.layers}.items():
            yield name, layer, *_size(numbers(gram))
    for layer, change in changes(trained).items():
        yield "change", layer, *_size(change)


def _size(K: Array) -> tuple[float, float, float]:
    return float(np.linalg.norm(K)), float(K.max()), float(np.trace(K))


def cosines(trained: Adaptation) -> Iterable[tuple[object, ...]]:
    for first in trained.kernels:
        others = {label: trained.label(label) for label in LABELS}
        others |= {name: trained.kernel(name) for name in trained.kernels if name != first}
        K = trained.kernel(first)
        for second, other in others.items():
            yield first, second, cosine(K, other), norm_ratio(K, other)


def fits(trained: Adaptation) -> Iterable[tuple[object, ...]]:
    for label in LABELS:
        for linear in (False, True) if trained.linear is not None else (False,):
            fit = trained.fit(label, linear=linear)
            a, b = fit.coefficients["a"], fit.coefficients["b"]
            yield label, 2 + linear, a, b, fit.coefficients.get("c", np.nan), fit.r2


def layers(trained: Adaptation) -> Iterable[tuple[object, ...]]:
    moves = trained.average.moves[trained.rule]
    norms = {layer: float(np.linalg.norm(K)) for layer, K in changes(trained).items()}
    total = sum(norm for layer, norm in norms.items() if layer != "total")
    linear = trained.linear
    for layer, moved in moves.items():
        values = numbers(moved)
        yield (
            layer,
            norms[layer] / total if total > 0 else np.nan,
            float(np.linalg.norm(values)),
            distance(trained, layer),
            correlation(values, trained.targets),
            correlation(values, linear) if linear is not None else np.nan,
            correlation(values, trained.task_residual) if linear is not None else np.nan,
        )


def premise(trained: Adaptation) -> Iterable[tuple[object, ...]]:
    r, square = trained.residual.ravel(), distance(trained) ** 2
    for name in trained.kernels:
        K = trained.kernel(name)
        # Eigenvalues below the rounding of a float32 kernel are left out.
        cut = len(K) * float(np.finfo(np.float32).eps)
        least = float(r @ np.linalg.pinv(K, rcond=cut, hermitian=True) @ r)
        yield name, least, square


def fifths(trained: Adaptation) -> Iterable[tuple[object, ...]]:
    assert trained.linear is not None
    before, diagonal = (array(np.diag(trained.kernel(name))) for name in ("initial", "average"))
    # An example that no unit sees has no gradient, and there is nothing to compare with.
    nothing = np.full_like(diagonal, np.nan)
    statistics = {
        "diagonal": diagonal,
        "relative": array(np.divide(diagonal, before, out=nothing, where=before > 0)),
        "remainder": array(np.diag(trained.fit("residual").remainder)),
    }
    size = np.abs(trained.linear)
    for name, values in statistics.items():
        low, high = fifth_means(values, size)
        yield name, low, high, correlation(ranks(values), ranks(size))


def examples(trained: Adaptation) -> dict[str, object]:
    assert trained.linear is not None
    order = np.argsort(trained.linear, kind="stable")
    columns = {
        "linear": trained.linear,
        "target": trained.targets[:, 0],
        "start": trained.outputs_at_start[:, 0],
        "output": trained.outputs[:, 0],
        "initial": np.diag(trained.kernel("initial")),
        "average": np.diag(trained.kernel("average")),
        "remainder": np.diag(trained.fit("residual").remainder),
    }
    assert [*columns] == [name for name in EXAMPLES.columns if name not in ("step", "example")]
    return {"example": np.arange(len(order)), **{k: v[order] for k, v in columns.items()}}


def cells(trained: Adaptation, side: int) -> Iterable[tuple[object, ...]]:
    assert trained.linear is not None
    order = np.argsort(trained.linear, kind="stable")
    bounds = np.linspace(0, len(order), min(side, len(order)) + 1).astype(int)
    kernels = {name: trained.kernel(name) for name in ("initial", "average")}
    kernels["residual"] = trained.label("residual")
    for name, K in kernels.items():
        K = K[np.ix_(order, order)]
        sums = np.add.reduceat(np.add.reduceat(K, bounds[:-1], 0), bounds[:-1], 1)
        means = sums / np.outer(np.diff(bounds), np.diff(bounds))
        for (row, column), value in np.ndenumerate(means):
            yield name, row, column, value


def ckas(
    trained: Adaptation, shuffles: int, draws: torch.Generator
) -> Iterable[tuple[object, ...]]:
    examples = len(trained.targets)
    orders = [torch.randperm(examples, generator=draws).numpy() for _ in range(shuffles)]
    for name in trained.kernels:
        K = array(centre(trained.kernel(name), trained.targets.shape[1], "class"))
        cka, *null = (
            label_cka(K, centre_labels(trained.targets[order], "class"))
            for order in (np.arange(examples), *orders)
        )
        yield name, cka, float(np.mean(null)), max(null), shuffles


def angles(trained: Adaptation, count: int) -> Iterable[tuple[object, ...]]:
    """Cosines of the principal angles between leading directions of K_t - K_0 and of K - K_0."""
    ends = {name: weight.detach().clone() for name, weight in trained.network.named_parameters()}
    initial = trained.kernel("initial")
    average = principal_directions(trained.kernel("average") - initial, count)
    for t in np.linspace(0, 1, PATH_POINTS + 1)[1:]:
        between = {
            name: (1 - float(t)) * weight + float(t) * ends[name]
            for name, weight in trained.start.items()
        }
        K = numbers(tangent_kernel(at(trained.network, between), trained.inputs, layers=False).gram)
        directions = principal_directions(K - initial, count)
        for index, value in enumerate(principal_cosines(directions, average), start=1):
            yield float(t), index, float(value)
