r"""How far Kronecker-factored approximations drift from the empirical Fisher matrix between two
computations of their basis (George's thesis, Figure 4.2).

ntkexp train +exp=curvature/drift

The factors A, B and the basis U = U_A x U_B are computed every `period` updates; KFAC keeps the
scale S_A x S_B of then, EKFAC takes s_k = E[(U^T g)_k^2] of now. On the same n examples, and layer
by layer, a matrix of any scale d in that basis is as far from F = E[g g^T] as

.. math:: |F - U d U^T|^2 = |F|^2 - 2 \sum_k s_k d_k + |d|^2, \qquad
          |F|^2 = \sum_{ij} \langle g_i, g_j \rangle^2 / n^2

so that no F is formed. KFAC times its best scalar has c = <s, d> / |d|^2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from ntkexp.curvature.gradients import Gradients
from ntkexp.curvature.kron import Basis, Kronecker, Layout
from ntkexp.objectives.base import Loss
from ntkexp.options import count, option
from ntkexp.probes.base import Measured, Probe, columns
from ntkexp.probes.view import Batch, View
from ntkexp.results.table import STEP, Table, float32, float64, int64, string
from ntkexp.tangent.factors import Outer
from ntkexp.tangent.tangent_features import TangentFeatures

FISHER_DRIFT = Table(
    "fisher_drift",
    "approximations of a layer's empirical Fisher matrix F on the training examples of the probes",
    {
        "step": STEP,
        "layer": string("its name"),
        "since": int64("updates since the factors and their basis were computed"),
        "norm": float64("|F|, Frobenius's"),
        "kfac": float64("|F - KFAC| / |F|, with the factors of then"),
        "kfac_scaled": float64("the same of KFAC times the number that makes it least"),
        "ekfac": float64("|F - EKFAC| / |F|, with the second moments of now in the basis of then"),
    },
    notes="A step at which the basis is computed anew has two rows, of before and after.",
)
CORRELATIONS = Table(
    "fisher_correlations",
    "at the last look, the correlation over examples of two of the gradients by the parameters of "
    "a layer, evenly spaced over it, and of two of their coordinates in the basis, too",
    {
        "step": STEP,
        "first": int64("number of one, from 0"),
        "second": int64("of the other, a larger number"),
        "parameters": float32("|correlation| of the gradients by parameters, in hundredths"),
        "basis": float32("of the coordinates in the basis, in hundredths"),
    },
)


@dataclass
class FisherDrift(Probe):
    """Of layers with Kronecker factors."""

    tables = (FISHER_DRIFT, CORRELATIONS)
    needs = frozenset({"layers"})
    looks_at = frozenset({"train"})

    period: int = option(100, count("updates"), "from one computation of the basis to the next")
    layer: str = option("hidden2", about="the layer whose correlations are kept")
    parameters: int = option(250, count("parameters"), "of that layer, for the correlations")

    def __post_init__(self) -> None:
        self._bases: dict[str, tuple[int, list[Tensor]]] = {}

    def measure(self, view: View) -> Measured:
        network, batch = view.network("layers"), view.batches["train"]
        outers = outers_of(network, batch, view.objective)
        norms = norms_of(network, batch, view.objective)
        rows: list[tuple[object, ...]] = []
        begun = max((then for then, _ in self._bases.values()), default=None)
        if begun is not None:
            rows += self._rows(view.step, outers, norms)
        if begun is None or view.step - begun >= self.period:
            for layer, outer in outers.items():
                kron = Kronecker(Layout.of(outer))
                kron.add(outer)
                basis = kron.basis()
                self._bases[layer] = view.step, [basis.a, basis.b, basis.products()]
            rows += self._rows(view.step, outers, norms)
        measured: dict[str, Mapping[str, object]] = {"fisher_drift": columns(FISHER_DRIFT, rows)}
        if view.last:
            _, (a, b, _) = self._bases[self.layer]
            measured["fisher_correlations"] = correlations(
                outers[self.layer], a, b, self.parameters
            )
        return measured

    def _rows(
        self, step: int, outers: Mapping[str, Outer], norms: Mapping[str, float]
    ) -> Iterator[tuple[object, ...]]:
        for layer, outer in outers.items():
            then, tensors = self._bases[layer]
            errors = errors_of(outer, *tensors, norm=norms[layer])
            yield layer, step - then, norms[layer], *errors

    def state(self) -> dict[str, Any]:
        return {
            layer: {"step": step, "tensors": list(tensors)}
            for layer, (step, tensors) in self._bases.items()
        }

    def restore(self, state: dict[str, Any]) -> None:
        self._bases = {layer: (kept["step"], kept["tensors"]) for layer, kept in state.items()}


def outers_of(network: nn.Module, batch: Batch, objective: Loss) -> dict[str, Outer]:
    """By layer, the gradients of the losses of single examples by its weight and bias."""
    given = [(batch.inputs, batch.targets)]
    (features,) = Gradients(network, given, "empirical", loss=objective.losses)
    return {
        layer: factor
        for layer, factors in features.layers.items()
        for factor in factors.values()
        if isinstance(factor, Outer)
    }


def norms_of(network: nn.Module, batch: Batch, objective: Loss) -> dict[str, float]:
    """|F| by layer, from the tangent kernel of the losses."""

    def losses(outputs: Tensor, indices: Tensor) -> Tensor:
        return objective.losses(outputs, batch.targets[indices])

    kernel = TangentFeatures(network, outputs=losses).kernel(batch.inputs)
    return {
        layer: float(torch.linalg.matrix_norm(gram.double())) / len(batch.inputs)
        for layer, gram in kernel.layers.items()
    }


def errors_of(
    outer: Outer, a: Tensor, b: Tensor, products: Tensor, *, norm: float
) -> tuple[float, float, float]:
    """Of KFAC, of KFAC times its best scalar, and of EKFAC, over |F|."""
    moments = basis_of(outer, a, b).squares(outer).double() / len(outer.v)
    scale = products.double().expand(moments.shape)
    square, product = scale.square().sum(), (moments * scale).sum()
    kfac = norm**2 - 2 * product + square
    scaled = norm**2 - product**2 / square
    ekfac = norm**2 - moments.square().sum()
    of_kfac, of_scaled, of_ekfac = (
        float(error.clamp_min(0).sqrt()) / norm for error in (kfac, scaled, ekfac)
    )
    return of_kfac, of_scaled, of_ekfac


def basis_of(outer: Outer, a: Tensor, b: Tensor) -> Basis:
    """That of the eigenvectors of earlier factors; other inputs may point in all directions."""
    return Basis(Layout.of(outer), a[:, 0], a, a.shape[2], b[:, 0], b, 1.0)


def correlations(outer: Outer, a: Tensor, b: Tensor, most: int) -> dict[str, list[Any]]:
    """The columns of the table, of at most so many parameters."""
    layout = Layout.of(replace(outer, bias=""))
    weights = layout.matrices(outer.jacobian()[:, 0])  # (n, G, S, O, K)
    gradients = torch.cat([weights, outer.v[:, 0].sum(-1)[:, :, None, :, None]], -1)
    found = []
    for rows in (gradients, basis_of(outer, a, b).to(gradients)):
        flat = rows.flatten(1)
        count = min(most, flat.shape[1])
        chosen = torch.arange(count) * flat.shape[1] // count
        matrix = torch.corrcoef(flat[:, chosen].double().T).abs().nan_to_num(0.0)
        first, second = torch.triu_indices(len(matrix), len(matrix), 1)
        found.append((100 * matrix[first, second]).round() / 100)
    numbers = (first, second, *found)
    names = ("first", "second", "parameters", "basis")
    return {name: part.tolist() for name, part in zip(names, numbers, strict=True)}
