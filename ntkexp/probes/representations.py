"""How near cheap representations come to the exact Fisher matrix; Figures 3.3 to 3.6 of George's
thesis.

ntkexp train +exp=curvature/representations_vgg11

For unit vectors v in random directions, with F exact and never stored, and F~ an approximation

    F v beside F~ v,   v^T F v beside v^T F~ v,   tr F beside tr F~,
    v beside v' = (F~ + damping)^-1 (F + damping) v,

damping from a millionth to all of the largest eigenvalue of F. F~ is made of a few labels drawn for
each example (mc), as in the thesis, and of all classes (exact).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ntkexp.curvature import Fisher, Vector, fisher, fishers
from ntkexp.curvature.gradients import Gradients
from ntkexp.options import count, option
from ntkexp.probes.base import Probe, columns
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, int64, string
from ntkexp.seeds import generator

KINDS = ("diagonal", "quasi_diagonal", "kfac", "ekfac")
OF = ("mc", "exact")
WHICH: dict[str, Any] = {
    "step": STEP,
    "of": string("labels drawn, or all classes", choices=OF),
    "kind": string("the representation", choices=KINDS),
}
DIRECTION: dict[str, Any] = {"direction": int64("number of v")}
PRODUCTS = Table(
    "fisher_products",
    "a representation F~ times a vector beside the exact F times it",
    WHICH
    | DIRECTION
    | {
        "cosine": float64("between F v and F~ v"),
        "residual": float64("|F v - F~ v| / |F v|"),
        "form": float64("v^T F~ v / v^T F v"),
    },
)
SOLVES = Table(
    "fisher_solves",
    "v' = (F~ + damping)^-1 (F + damping) v beside v",
    WHICH
    | {"damping": float64("as a share of the largest eigenvalue of F")}
    | DIRECTION
    | {"cosine": float64("between v and v'"), "residual": float64("|v - v'| / |v'|")},
)
TRACES = Table(
    "fisher_traces",
    "the trace of a representation beside the exact one",
    WHICH
    | {
        "trace": float64("of F~"),
        "exact": float64("of F"),
        "sampling": float64("standard error of the trace by drawn labels; 0 of all classes"),
    },
)
EXAMPLES_AT_ONCE = 100
DAMPINGS = [10.0**power for power in range(-6, 1)]
# Steps of the power method after those on EKFAC, from whose leading eigenvector it begins.
POWER_STEPS, EKFAC_STEPS = 3, 50

Batches = Sequence[tuple[Tensor, Tensor]]


@dataclass
class Representations(Probe):
    """Looks at the first `examples` training images, at every look."""

    tables = (PRODUCTS, SOLVES, TRACES)
    needs = frozenset({"network", "examples"})
    looks_at = frozenset()
    small: ClassVar = {"examples": 100, "directions": 5}
    tiny: ClassVar = {"examples": 20, "directions": 3}

    examples: int = option(1000, count("examples"), "training images of the matrices")
    directions: int = option(20, count("vectors", most=1000), "random vectors")
    samples: int = option(5, count("labels", most=1000), "labels drawn for an image")

    def measure(self, view: View) -> Rows:
        network, train = view.network(), view.examples("train")
        inputs, targets = train.inputs[: self.examples], train.targets[: self.examples]
        batches = in_batches(inputs, targets)
        exact = fisher(network, batches, "implicit")
        drawn = generator(view.seed, "directions", view.step)
        directions = [Vector.random(network, drawn) for _ in range(self.directions)]
        pushed = [exact.mv(v) for v in directions]
        approximate = {
            (of, kind): matrix
            for of in OF
            for kind, matrix in zip(KINDS, self._matrices(network, batches, of), strict=True)
        }
        largest = largest_eigenvalue(exact, approximate["exact", "ekfac"], directions[0])
        trace, error = exact.trace(), self._sampling_error(network, batches)
        products: list[tuple[object, ...]] = []
        solves: list[tuple[object, ...]] = []
        traces: list[tuple[object, ...]] = []
        for (of, kind), matrix in approximate.items():
            for number, (v, w) in enumerate(zip(directions, pushed, strict=True)):
                near = matrix.mv(v)
                products.append((of, kind, number, *beside(w, near), v.dot(near) / v.dot(w)))
                solves += ((of, kind, share, number, *found)
                           for share, found in solved(matrix, v, w, largest))  # fmt: skip
            traces.append((of, kind, matrix.trace(), trace, error if of == "mc" else 0.0))
        return {
            PRODUCTS.name: columns(PRODUCTS, products),
            SOLVES.name: columns(SOLVES, solves),
            TRACES.name: columns(TRACES, traces),
        }

    def _matrices(self, network: nn.Module, batches: Batches, of: Any) -> list[Fisher]:
        return fishers(network, batches, KINDS, of=of, samples=self.samples)

    def _sampling_error(self, network: nn.Module, batches: Batches) -> float:
        """The standard error of a trace by `samples` labels, from traces by one label."""
        gradients = (Gradients(network, batches, "mc", samples=1, seed=1 + i) for i in range(5))
        traces = torch.stack([of_one_label.trace() for of_one_label in gradients])
        return float(traces.std()) / math.sqrt(self.samples)


def in_batches(inputs: Tensor, targets: Tensor) -> Batches:
    parts = (torch.split(tensor, EXAMPLES_AT_ONCE) for tensor in (inputs, targets))
    return [*zip(*parts, strict=True)]


def beside(truth: Vector, found: Vector) -> tuple[float, float]:
    """Their cosine, and the distance over the length of the truth."""
    cosine = truth.dot(found) / (truth.norm() * found.norm())
    return cosine, (truth - found).norm() / truth.norm()


def solved(
    matrix: Fisher, v: Vector, w: Vector, largest: float
) -> Iterator[tuple[float, tuple[float, float]]]:
    """Damping, as a share of the largest eigenvalue, and v beside v'; w is F v."""
    for share in DAMPINGS:
        damping = share * largest
        back = matrix.solve(w + damping * v, damping)
        cosine, _ = beside(v, back)
        yield share, (cosine, (v - back).norm() / back.norm())


def largest_eigenvalue(exact: Fisher, near: Fisher, start: Vector) -> float:
    """By the power method, most of whose steps are of a matrix that is near and cheap."""
    v = start
    for step in range(EKFAC_STEPS + POWER_STEPS):
        w = (near if step < EKFAC_STEPS else exact).mv(v)
        v, length = w * (1 / w.norm()), w.norm()
    return length
