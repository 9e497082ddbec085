"""How much of the labels lies in the leading eigenvectors of the tangent kernel, along training.

ntkexp train +exp=linearised/cifar2_lenet

The kernel is that of `probing.examples` training examples; ntkexp/theory/linearised/energy.py has
the formula.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ntkexp.errors import UserError
from ntkexp.options import count, option
from ntkexp.probes.base import Measured, Probe
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Table, float64, int64
from ntkexp.seeds import generator
from ntkexp.tangent.krylov import leading_pairs
from ntkexp.theory.linearised.energy import energy_concentration

ENERGY = Table(
    "energy_concentration",
    "share of the labels' length that lies in the leading eigenvectors of the kernel, not squared",
    {
        "step": STEP,
        "count": int64("leading eigenvectors"),
        "labels": float64("of the training labels, -1 and 1; from 0 to 1"),
        "random": float64("of random labels"),
    },
)
# Vectors of the Krylov space for each eigenvector; further ones do not change their span.
BASIS, BLOCKS = 6, 5


@dataclass
class EnergyConcentration(Probe):
    """Two classes and one output. The kernel takes n^2 numbers of memory at each look."""

    tables = (ENERGY,)
    needs = frozenset({"network", "kernel", "labels"})
    looks_at = frozenset({"train"})

    count: int = option(50, count("eigenvectors"), "how many leading eigenvectors")

    def measure(self, view: View) -> Measured:
        gram = view.kernel_on(view.batches["train"].inputs).gram
        labels = view.labels("train")
        if gram.shape[0] != len(labels) or labels.shape[1] != 1:
            raise UserError(
                f"probe.{self.name}: expected one output, there are more; "
                f"~probe.{self.name} leaves it out"
            )
        vectors = self.vectors(gram, generator(view.seed, "energy concentration"))
        drawn = generator(view.seed, "random labels")
        random = torch.randint(2, (len(gram),), generator=drawn) * 2 - 1
        return {
            "energy_concentration": {
                "count": vectors.shape[1],
                "labels": energy_concentration(vectors, labels[:, 0]),
                "random": energy_concentration(vectors, random),
            }
        }

    def vectors(self, gram: Tensor, drawn: torch.Generator) -> Tensor:
        """(n, K): the leading eigenvectors, all of them where there are no more."""
        block = max(1, self.count // BLOCKS)
        basis = BASIS * self.count // block * block
        if len(gram) <= basis:
            vectors: Tensor = torch.linalg.eigh(gram.double())[1].cpu()
            return vectors[:, -self.count :]
        first = torch.randn(len(gram), block, generator=drawn).to(gram)
        return leading_pairs(gram.matmul, first, self.count, basis).vectors.double().cpu()
