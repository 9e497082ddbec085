"""Writes down Fisher matrices of a network's only linear layer, three ways; and a probe of Adam."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from ntkexp.optim import Optimiser
from ntkexp.optim.observer import Forward
from ntkexp.optim.sgd import SgdUpdate
from ntkexp.optim.update import WeightUpdate
from ntkexp.probes import Probe, Rows, View
from ntkexp.results.table import STEP, Table, float64
from ntkexp.seeds import generator

DRAWS = 400


def outer(forward: Forward, slopes: Tensor) -> Tensor:
    """The sum over examples of the squared gradients of all weights."""
    total = torch.zeros(())
    for passed, g in zip(forward.passed, forward.gradients(slopes), strict=True):
        per_example = torch.einsum("no,ni->noi", g, passed.inputs).flatten(1)
        total = total + torch.einsum("na,nb->ab", per_example, per_example)
    return total


class FisherUpdate(SgdUpdate):
    sees_forward = True

    def on_forward(self, forward: Forward) -> None:
        outputs, loss = forward.outputs, forward.objective
        _, slopes = loss.losses_and_slopes(outputs, forward.targets)
        exact = torch.stack([outer(forward, root) for root in loss.roots(outputs)]).sum(0)
        draws = generator(forward.seed, f"fisher {forward.step}")
        sampled = torch.zeros_like(exact)
        for _ in range(DRAWS):
            _, of_drawn = loss.losses_and_slopes(outputs, loss.sample(outputs, draws))
            sampled += outer(forward, of_drawn) / DRAWS
        # Matrices that no parameter has the shape of.
        self.memory["fisher"] = [outer(forward, slopes), exact, sampled]


@dataclass
class Fisher(Optimiser):
    def build(self, parameters: Iterable[Tensor]) -> WeightUpdate:
        return FisherUpdate(parameters, momentum=0.0, weight_decay=0.0)


@dataclass
class Remembered(Probe):
    tables = (
        Table(
            "remembered", "of Adam", {"step": STEP, "mean": float64("m"), "square": float64("v")}
        ),
    )
    needs = frozenset({"optimiser"})

    def measure(self, view: View) -> Rows:
        kept = view.optimiser()
        return {
            "remembered": {name: float(kept[name][0].abs().sum()) for name in ("mean", "square")}
        }
