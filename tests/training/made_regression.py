"""A task of one's own: numbers as targets, and a probe of how the outputs stand to them."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ntkexp.data.base import Data, Shape
from ntkexp.data.dataset import Dataset, Split
from ntkexp.options import count, option
from ntkexp.probes import Probe, Rows, View
from ntkexp.results.table import STEP, Table, float64, string
from ntkexp.seeds import generator

SLOPES = Table(
    "slopes",
    "the regression of the outputs on the targets, at a step",
    {"step": STEP, "split": string("train or test"), "slope": float64("1 where they agree")},
)


@dataclass
class Waves(Data):
    """y = sin(3 x_1) + x_2 / 2 on normal points."""

    train_examples: int = option(40, count("examples"))

    def shape(self) -> Shape:
        return Shape((2,), 1, self.train_examples)

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        def split(name: str, n: int) -> Split:
            x = torch.randn(n, 2, generator=generator(seed, name))
            return Split.clean(x.to(device), ((3 * x[:, 0]).sin() + x[:, 1] / 2).to(device))

        return Dataset(
            name="waves",
            train=split("train", self.train_examples),
            test=split("test", 20),
            classes=None,
            input_shape=(2,),
            checksums={},
        )


@dataclass
class Slopes(Probe):
    tables = (SLOPES,)
    needs = frozenset({"outputs"})

    def measure(self, view: View) -> Rows:
        rows = {}
        for name in ("train", "test"):
            outputs = view.outputs(name).flatten().double()
            targets = view.batches[name].targets.double()
            rows[name] = (outputs @ targets / (targets @ targets)).item()
        return {"slopes": {"split": list(rows), "slope": list(rows.values())}}
