"""The solution of (16) for a trained network, beside the network itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.probes.computations.adaptation import Adaptation, at, changes, numbers
from ntkexp.probes.relaxed_model import (
    DIAGONAL,
    ENTRIES,
    KERNELS,
    LAYERS,
    SINGULAR_VALUES,
    SOLUTION,
    RelaxedModel,
)
from ntkexp.probes.view import View
from ntkexp.results.table import Rows, Table
from ntkexp.seeds import derived_seed
from ntkexp.tangent import Outer, layer_factors
from ntkexp.tangent.factors.positions import everything
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
from ntkexp.theory.adaptive.penalties import Fixed, Penalty, Power
from ntkexp.theory.adaptive.solver import Adapted, OuterProducts, adapt
from ntkexp.theory.adaptive.structured import joint_penalty
from ntkexp.theory.float64 import Array, array

Sides = list[tuple[Penalty, Penalty]]


def layers_of(network: nn.Module, inputs: Tensor) -> dict[str, OuterProducts]:
    """The gradients v u^T of every layer; refused where they have another form."""
    found = layer_factors(network, inputs)
    layers = {}
    for layer, factors in found.layers.items():
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


def measured(view: View, start: Mapping[str, Tensor], probe: RelaxedModel) -> Rows:
    found = Adaptation.of(view, start, examples=probe.examples, points=probe.points)
    layers = layers_of(at(found.network, found.start), found.inputs)
    r = found.residual.ravel()
    power = Power(probe.p)
    sides: Sides = [(power, power) for _ in layers]
    sides[-1] = (Fixed(), power)  # W is (1, Q): Q is the side of the penultimate features
    frozen: Sides = [(Fixed(), Fixed()) for _ in layers]
    min_norm = adapt([*layers.values()], r, frozen, iterations=1)
    relaxed = adapt(
        [*layers.values()],
        r,
        sides,
        iterations=probe.iterations,
        tolerance=probe.tolerance,
        restarts=probe.restarts,
        seed=derived_seed(view.seed, "relaxed model"),
    )
    least_norm = joint_penalties(min_norm, sides)
    solution = [(len(relaxed.objectives), least_norm, min(relaxed.starts), max(relaxed.starts))]
    rows = {
        SINGULAR_VALUES.name: _columns(
            SINGULAR_VALUES, singular_values(found, layers, relaxed, min_norm)
        ),
        LAYERS.name: _columns(LAYERS, compared_layers(found, layers, relaxed)),
        KERNELS.name: _columns(KERNELS, compared_kernels(found, relaxed)),
        SOLUTION.name: _columns(SOLUTION, solution),
    }
    if not probe.diagonal:
        return rows
    diagonal = adapt_diagonal(
        [Layer(one) for one in layers.values()],
        r,
        power,
        iterations=probe.iterations,
        tolerance=probe.tolerance,
    )
    of_min_norm = sum(diagonal_penalty(B, power) for B in min_norm.B)
    with_average = cosine(diagonal.kernel, found.kernel("average"))
    least = [(len(diagonal.objectives), of_min_norm, diagonal.objectives[-1], with_average)]
    entries = compared_entries(found, layers, diagonal, min_norm)
    return rows | {
        ENTRIES.name: _columns(ENTRIES, entries),
        DIAGONAL.name: _columns(DIAGONAL, least),
    }


def joint_penalties(solution: Adapted, sides: Sides) -> float:
    """sum_l Omega~_l(B_l)."""
    return sum(joint_penalty(B, *pair) for B, pair in zip(solution.B, sides, strict=True))


def network_changes(found: Adaptation) -> dict[str, Array]:
    """W_l - W_0l by layer."""
    ends = dict(found.network.named_parameters())
    return {
        name.rpartition(".")[0]: numbers(ends[name] - weight)
        for name, weight in found.start.items()
    }


def singular_values(
    found: Adaptation, layers: Mapping[str, OuterProducts], relaxed: Adapted, min_norm: Adapted
) -> Iterable[tuple[object, ...]]:
    kinds = {
        "network": network_changes(found),
        "relaxed": dict(zip(layers, relaxed.B, strict=True)),
        "min_norm": dict(zip(layers, min_norm.B, strict=True)),
    }
    for kind, matrices in kinds.items():
        for layer, matrix in matrices.items():
            for rank, value in enumerate(np.linalg.svd(matrix, compute_uv=False), start=1):
                yield kind, layer, rank, value


def compared_entries(
    found: Adaptation, layers: Mapping[str, OuterProducts], diagonal: Diagonal, min_norm: Adapted
) -> Iterable[tuple[object, ...]]:
    kinds = {
        "network": network_changes(found),
        "diagonal": dict(zip(layers, diagonal.beta, strict=True)),
        "min_norm": dict(zip(layers, min_norm.B, strict=True)),
    }
    for kind, matrices in kinds.items():
        for layer in layers:
            change = matrices[layer]
            yield kind, layer, effective_entries(change), share_that_holds(0.9, change)


def compared_layers(
    found: Adaptation, layers: Mapping[str, OuterProducts], relaxed: Adapted
) -> Iterable[tuple[object, ...]]:
    ones = {name: (np.eye(one.shape[0]), np.eye(one.shape[1])) for name, one in layers.items()}
    of_relaxed = {
        name: array(kernel - one.gram(*ones[name]))
        for (name, one), kernel in zip(layers.items(), relaxed.kernels, strict=True)
    }
    added = {
        name: array(np.einsum("np,pq,nq->n", one.v, B, one.u, optimize=True))
        for (name, one), B in zip(layers.items(), relaxed.B, strict=True)
    }
    moved = {name: numbers(one) for name, one in found.average.moves[found.rule].items()}
    own = {name: K for name, K in changes(found).items() if name != "total"}
    B = dict(zip(layers, relaxed.B, strict=True))
    for kind, matrices, kernels, outputs in (
        ("network", network_changes(found), own, moved),
        ("relaxed", B, of_relaxed, added),
    ):
        total = sum(float(np.linalg.norm(K)) for K in kernels.values())
        for layer in layers:
            s = np.linalg.svd(matrices[layer], compute_uv=False)
            share = float(np.linalg.norm(kernels[layer])) / total if total > 0 else np.nan
            yield kind, layer, share, effective_rank(s), *_correlations(found, outputs[layer])


def _correlations(found: Adaptation, outputs: Array) -> tuple[float, float]:
    if found.linear is None:
        return np.nan, np.nan
    return correlation(outputs, found.linear), correlation(outputs, found.task_residual)


def compared_kernels(found: Adaptation, relaxed: Adapted) -> Iterable[tuple[object, ...]]:
    others = {name: found.kernel(name) for name in ("average", "initial", "final")}
    others["residual"] = label_kernel(found.residual)
    K = relaxed.kernel
    for name, other in others.items():
        yield name, cosine(K, other), norm_ratio(K, other)


def _columns(table: Table, rows: Iterable[tuple[object, ...]]) -> dict[str, list[object]]:
    names = [name for name in table.columns if name != "step"]
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
