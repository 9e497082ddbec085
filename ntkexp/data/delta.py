"""A sampled delta function (Experiment 7 of "On the Spectral Bias of Neural Networks").

ntkexp train -m +exp=spectral/delta_depth
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from ntkexp.data.base import Data, Shape
from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.images.files import shared_inputs
from ntkexp.options import count, option


@dataclass
class Delta(Data):
    """1 at z = 1/2, else 0, at z = j / N. All frequencies are there alike: each has 1/N of the
    sum over points. The test set is the training set; no draw is made."""

    groups: ClassVar = frozenset()
    tiny: ClassVar = {"train_examples": 40}

    train_examples: int = option(200, count("points"), "points of the grid")

    def shape(self) -> Shape:
        return Shape(inputs=(1,), outputs=1, examples=self.train_examples)

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        count = self.train_examples
        inputs = shared_inputs((torch.arange(count) / count)[:, None].to(device))
        targets = (torch.arange(count, device=device) == count // 2).float()
        split = Split.clean(inputs, targets)
        return Dataset(
            name="delta",
            train=split,
            test=split,
            classes=None,
            input_shape=(1,),
            checksums={},
        )
