"""The relaxed model of a network: the one that training should lead to by Theorem 2.

The problem (16) of LeJeune and Alemohammad, "An Adaptive Tangent Feature Perspective of Neural
Networks", is solved at the network's own size: layers W -> M_1 W M_2 of its features at step 0,
penalties |v - 1|^p on both sides (the last layer from the left alone), and f - f_0 to interpolate.
Its kernel and its changes of weights are compared with the network's. Measured at the last step,
for networks of linear layers with one output, on the first `examples` of the training set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.options import count, option, positive, whole
from ntkexp.probes.adaptation import Adaptation, at, changes, numbers
from ntkexp.probes.base import columns
from ntkexp.probes.initial_weights import RemembersStart
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, int64, string
from ntkexp.seeds import derived_seed
from ntkexp.tangent import Outer, layer_factors
from ntkexp.tangent.positions import everything
from ntkexp.theory.adaptive.diagonal import (
    Diagonal,
    Layer,
    adapt_diagonal,
    diagonal_penalty,
    effective_entries,
    share_that_holds,
)
from ntkexp.theory.adaptive.kernels import (
    correlation,
    cosine,
    effective_rank,
    label_kernel,
    norm_ratio,
)
from ntkexp.theory.adaptive.penalties import Fixed, Penalty, Power, joint_penalty
from ntkexp.theory.adaptive.solver import Adapted, OuterProducts, adapt
from ntkexp.theory.float64 import Array, array

SINGULAR_VALUES = Table(
    "relaxed_singular_values",
    "a singular value of one layer's change of weights",
    {
        "step": STEP,
        "of": string("`network` (W - W_0), `relaxed` (B of (16)) or `min_norm` (B without M)"),
        "layer": string("the name of a module"),
        "rank": int64("1 is the largest"),
        "value": float64("in the units of the weights"),
    },
)
LAYERS = Table(
    "relaxed_layers",
    "one layer of the relaxed model beside the same layer of the network",
    {
        "step": STEP,
        "of": string("`network` or `relaxed`"),
        "layer": string("the name of a module"),
        "share": float64("|K_l - K_0l|_F over its sum over the layers"),
        "effective_rank": float64("(sum s)^2 / sum s^2 of the singular values of its change"),
        "with_linear": float64(
            "correlation of what it adds to the outputs with the linear targets"
        ),
        "with_residual": float64("with sign(y) - alpha y"),
    },
)
KERNELS = Table(
    "relaxed_kernels",
    "the cosine of the relaxed model's kernel with another, not centred",
    {
        "step": STEP,
        "other": string("`average` (the network's adapted kernel), `initial`, `final`, `residual`"),
        "cosine": float64("-1 to 1"),
        "ratio": float64("Frobenius norm of the relaxed kernel over that of the other"),
    },
)
SOLUTION = Table(
    "relaxed_solution",
    "how the problem (16) was solved",
    {
        "step": STEP,
        "iterations": int64("of alternating minimisation"),
        "min_norm": float64("the penalty of the solution of least norm"),
        "least": float64("the least penalty found, of all starts"),
        "worst": float64("the largest that a start came to"),
    },
)
ENTRIES = Table(
    "relaxed_entries",
    "how many entries of a change of weights matter; with diagonal=true",
    {
        "step": STEP,
        "of": string("`network`, `diagonal` (beta of (5) for diagonal M) or `min_norm`"),
        "layer": string("the name of a module"),
        "entries": float64("(sum b^2)^2 / sum b^4 over the entries b"),
        "share": float64("of the entries, the largest that hold .9 of sum b^2"),
    },
)
DIAGONAL = Table(
    "relaxed_diagonal",
    "the model whose M is diagonal; with diagonal=true",
    {
        "step": STEP,
        "iterations": int64("of alternating minimisation"),
        "min_norm": float64("the penalty of the solution of least norm"),
        "least": float64("the least penalty"),
        "cosine": float64("of its kernel with the network's adapted kernel, not centred"),
    },
)


@dataclass
class RelaxedModel(RemembersStart):
    """The penalty |v - 1|^p is of both sides, and that of a diagonal M (appendix A.1), too. The
    problem is not convex, hence `restarts` from random M."""

    tables = (SINGULAR_VALUES, LAYERS, KERNELS, SOLUTION, ENTRIES, DIAGONAL)
    needs = frozenset({"network", "examples", "training"})
    looks_at = frozenset()
    tiny: ClassVar = {"points": 2, "iterations": 2, "restarts": 0}

    examples: int = option(500, count("examples"), "how many training examples")
    points: int = option(50, whole(2, 100_000, "points"), "points on the way of the weights")
    p: float = option(2.0, positive(100), "power of the penalty")
    iterations: int = option(500, count("iterations"), "iterations of the solver")
    tolerance: float = option(1e-6, positive(1), "gain below which the solver stops")
    restarts: int = option(0, whole(0, 1000, "random starts beside the identity"), "of the solver")
    diagonal: bool = option(False, about="also solve for a scale of every parameter")

    def measure(self, view: View) -> Rows:
        self.remember(view)
        if view.step == 0:
            # Refused before the training, and not after it.
            layers_of(view.network(), view.examples("train").inputs[:2])
        if not view.last or view.step == 0:
            return {}
        trained = Adaptation.of(view, self.start(), examples=self.examples, points=self.points)
        layers = layers_of(at(trained.network, trained.start), trained.inputs)
        r = trained.residual.ravel()
        power = Power(self.p)
        sides: Sides = [(power, power) for _ in layers]
        sides[-1] = (Fixed(), power)  # W is (1, Q): Q is the side of the penultimate features
        frozen: Sides = [(Fixed(), Fixed()) for _ in layers]
        min_norm = adapt([*layers.values()], r, frozen, iterations=1)
        relaxed = adapt(
            [*layers.values()],
            r,
            sides,
            iterations=self.iterations,
            tolerance=self.tolerance,
            restarts=self.restarts,
            seed=derived_seed(view.seed, "relaxed model"),
        )
        least_norm = joint_penalties(min_norm, sides)
        solution = [(len(relaxed.objectives), least_norm, min(relaxed.starts), max(relaxed.starts))]
        values = singular_values(trained, layers, relaxed, min_norm)
        rows = {
            SINGULAR_VALUES.name: columns(SINGULAR_VALUES, values),
            LAYERS.name: columns(LAYERS, compared_layers(trained, layers, relaxed)),
            KERNELS.name: columns(KERNELS, compared_kernels(trained, relaxed)),
            SOLUTION.name: columns(SOLUTION, solution),
        }
        if not self.diagonal:
            return rows
        diagonal = adapt_diagonal(
            [Layer(products) for products in layers.values()],
            r,
            power,
            iterations=self.iterations,
            tolerance=self.tolerance,
        )
        of_min_norm = sum(diagonal_penalty(B, power) for B in min_norm.B)
        with_average = cosine(diagonal.kernel, trained.kernel("average"))
        least = [(len(diagonal.objectives), of_min_norm, diagonal.objectives[-1], with_average)]
        entries = compared_entries(trained, layers, diagonal, min_norm)
        return rows | {
            ENTRIES.name: columns(ENTRIES, entries),
            DIAGONAL.name: columns(DIAGONAL, least),
        }


Sides = list[tuple[Penalty, Penalty]]


def layers_of(network: nn.Module, inputs: Tensor) -> dict[str, OuterProducts]:
    """The gradients v u^T of every layer; refused where they have another form."""
    layers = {}
    for layer, factors in layer_factors(network, inputs).layers.items():
        for name, factor in factors.items():
            if not isinstance(factor, Outer) or not _single(factor):
                raise UserError(
                    f"probe.relaxed_model: {name} is not the weight of a linear layer of a network "
                    "with one output; expected model=bias_free_mlp or its like"
                )
            u = everything(factor.u)[:, 0, :, 0]
            layers[layer] = OuterProducts(numbers(factor.v[:, 0, 0, :, 0]), numbers(u))
    return layers


def _single(factor: Outer) -> bool:
    """One output, one group, one position: a gradient v u^T."""
    _, outputs, groups, _, positions = factor.v.shape
    return not factor.swapped and (outputs, groups, positions) == (1, 1, 1)


def joint_penalties(solution: Adapted, sides: Sides) -> float:
    """sum_l Omega~_l(B_l)."""
    return sum(joint_penalty(B, *pair) for B, pair in zip(solution.B, sides, strict=True))


def network_changes(trained: Adaptation) -> dict[str, Array]:
    """W_l - W_0l by layer."""
    ends = dict(trained.network.named_parameters())
    return {
        name.rpartition(".")[0]: numbers(ends[name] - weight)
        for name, weight in trained.start.items()
    }


def singular_values(
    trained: Adaptation, layers: Mapping[str, OuterProducts], relaxed: Adapted, min_norm: Adapted
) -> Iterable[tuple[object, ...]]:
    kinds = {
        "network": network_changes(trained),
        "relaxed": dict(zip(layers, relaxed.B, strict=True)),
        "min_norm": dict(zip(layers, min_norm.B, strict=True)),
    }
    for kind, matrices in kinds.items():
        for layer, matrix in matrices.items():
            for rank, value in enumerate(np.linalg.svd(matrix, compute_uv=False), start=1):
                yield kind, layer, rank, value


def compared_entries(
    trained: Adaptation, layers: Mapping[str, OuterProducts], diagonal: Diagonal, min_norm: Adapted
) -> Iterable[tuple[object, ...]]:
    kinds = {
        "network": network_changes(trained),
        "diagonal": dict(zip(layers, diagonal.beta, strict=True)),
        "min_norm": dict(zip(layers, min_norm.B, strict=True)),
    }
    for kind, matrices in kinds.items():
        for layer in layers:
            change = matrices[layer]
            yield kind, layer, effective_entries(change), share_that_holds(0.9, change)


def compared_layers(
    trained: Adaptation, layers: Mapping[str, OuterProducts], relaxed: Adapted
) -> Iterable[tuple[object, ...]]:
    of_relaxed = {
        name: array(kernel - layer.gram(*map(np.eye, layer.shape)))
        for (name, layer), kernel in zip(layers.items(), relaxed.kernels, strict=True)
    }
    added = {
        name: array(np.einsum("np,pq,nq->n", layer.v, B, layer.u, optimize=True))
        for (name, layer), B in zip(layers.items(), relaxed.B, strict=True)
    }
    moves = trained.average.moves[trained.rule]
    moved = {name: numbers(move) for name, move in moves.items()}
    of_network = {name: K for name, K in changes(trained).items() if name != "total"}
    B = dict(zip(layers, relaxed.B, strict=True))
    for kind, matrices, kernels, outputs in (
        ("network", network_changes(trained), of_network, moved),
        ("relaxed", B, of_relaxed, added),
    ):
        total = sum(float(np.linalg.norm(K)) for K in kernels.values())
        for layer in layers:
            s = np.linalg.svd(matrices[layer], compute_uv=False)
            share = float(np.linalg.norm(kernels[layer])) / total if total > 0 else np.nan
            yield kind, layer, share, effective_rank(s), *_correlations(trained, outputs[layer])


def _correlations(trained: Adaptation, outputs: Array) -> tuple[float, float]:
    if trained.linear is None:
        return np.nan, np.nan
    return correlation(outputs, trained.linear), correlation(outputs, trained.task_residual)


def compared_kernels(trained: Adaptation, relaxed: Adapted) -> Iterable[tuple[object, ...]]:
    others = {name: trained.kernel(name) for name in ("average", "initial", "final")}
    others["residual"] = label_kernel(trained.residual)
    K = relaxed.kernel
    for name, other in others.items():
        yield name, cosine(K, other), norm_ratio(K, other)
