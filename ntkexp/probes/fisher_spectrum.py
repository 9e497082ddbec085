"""The spectrum of a layer's empirical Fisher matrix, and those of approximations in a basis that
is kept from the first look on (George's thesis, Figure 4.4 c).

ntkexp train +exp=curvature/spectrum

The eigenvalues of F = E[g g^T] that are not 0 are those of <g_i, g_j> / n. KFAC keeps the products
of the eigenvalues of both factors, EKFAC has the second moments of now in their basis, and EKFAC-ra
is what the optimiser remembers, in a basis of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ntkexp.curvature.kron import Kronecker, Layout
from ntkexp.errors import UserError
from ntkexp.options import option
from ntkexp.probes.base import Measured, Probe
from ntkexp.probes.fisher_drift import basis_of, outers_of
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Table, float64
from ntkexp.tangent.positions import everything

FISHER_SPECTRUM = Table(
    "fisher_spectrum",
    "distances from the spectrum of a layer's empirical Fisher matrix F, all eigenvalues sorted, "
    "to those of approximations whose basis is that of the first look",
    {
        "step": STEP,
        "norm": float64("of the spectrum of F, which is |F|"),
        "trace": float64("the sum of the spectrum of F"),
        "kfac": float64("to KFAC's, with the factors of the first look"),
        "kfac_traced": float64("to the same, divided by a number that makes the traces equal"),
        "ekfac": float64("to EKFAC's, with the second moments of now"),
        "running": float64("to EKFAC-ra's; no number before its first update"),
    },
)


@dataclass
class FisherSpectrum(Probe):
    """For a linear layer, by a Gram matrix of all examples: n^3 operations a look."""

    tables = (FISHER_SPECTRUM,)
    needs = frozenset({"layers", "optimiser"})
    looks_at = frozenset({"train"})

    layer: str = option("encoder4", about="the layer whose matrix it is")

    def __post_init__(self) -> None:
        self._kept: list[Tensor] = []

    def measure(self, view: View) -> Measured:
        outers = outers_of(view.network("layers"), view.batches["train"], view.objective)
        if self.layer not in outers:
            raise UserError(
                f"probe.fisher_spectrum.layer={self.layer}: there are {', '.join(outers)}"
            )
        outer = outers[self.layer]
        n, size = len(outer.v), math.prod(Layout.of(outer).shape)
        if not self._kept:
            kron = Kronecker(Layout.of(outer))
            kron.add(outer)
            basis = kron.basis()
            self._kept = [basis.a, basis.b, basis.products()]
        a, b, products = self._kept
        u, v = everything(outer.u)[:, 0, :, 0].double(), outer.v[:, 0, 0, :, 0].double()
        gram = (u @ u.T + bool(outer.bias)) * (v @ v.T) / n
        spectrum = ordered(torch.linalg.eigvalsh(gram), size)
        moments = basis_of(outer, a, b).squares(outer) / n
        kfac = ordered(products, size)
        found = {
            "kfac": kfac,
            "kfac_traced": kfac * spectrum.sum() / kfac.sum(),
            "ekfac": ordered(moments, size),
            "running": running(view.optimiser(), [*outers].index(self.layer), size),
        }
        distances = {name: float((values - spectrum).norm()) for name, values in found.items()}
        norms = {"norm": float(spectrum.norm()), "trace": float(spectrum.sum())}
        return {"fisher_spectrum": norms | distances}

    def state(self) -> dict[str, Any]:
        return {"kept": list(self._kept)}

    def restore(self, state: dict[str, Any]) -> None:
        self._kept = state["kept"]


def ordered(values: Tensor, size: int) -> Tensor:
    """The `size` largest, falling, as many as there are and zeros after them."""
    kept = values.double().flatten().clamp_min(0).sort(descending=True).values[:size]
    return torch.cat([kept, kept.new_zeros(size - len(kept))])


def running(memory: Mapping[str, Any], place: int, size: int) -> Tensor:
    scales = memory.get("scale", [])
    return ordered(scales[place], size) if scales else torch.full((size,), torch.nan).double()
