"""Two classes that a hyperplane separates, along a direction that a run has found.

ntkexp train +exp=linearised/separable data.index=10 --with-parents

    x = epsilon y u + w,   y = -1 or 1 alike often,   w ~ N(0, I - u u^T),

u a unit vector: its direction says the class, all others are noise (Ortiz-Jimenez et al. 2021,
equation 5; the authors' code has half of epsilon).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from ntkexp.data.base import Data, Shape
from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.images.files import shared_inputs
from ntkexp.errors import UserError
from ntkexp.options import count, option, positive
from ntkexp.references import FromRun
from ntkexp.seeds import generator


@dataclass
class LinearSeparable(Data):
    """Images of `side` x `side` with one channel; training and test examples are drawn apart."""

    groups: ClassVar = frozenset()

    directions: FromRun = option(
        FromRun(file="vectors.npy"), about="the run of study=anisotropy_directions that has them"
    )
    index: int = option(1, count("as the place of a direction"), "which one, 1 the most aligned")
    side: int = option(32, count("pixels"), "pixels of an image's side, as that run has")
    epsilon: float = option(1.0, positive(), "half the distance of the classes")
    train_examples: int = option(10_000, count("examples"), "training examples")
    test_examples: int = option(10_000, count("examples"), "test examples")

    small: ClassVar = {"side": 8, "train_examples": 500, "test_examples": 500}
    tiny: ClassVar = {"side": 6, "train_examples": 40, "test_examples": 30}

    def check(self, config: object = None) -> None:
        if self.directions.run is None:
            raise UserError(
                "data.directions.run: has no value; expected a run of study=anisotropy_directions"
            )

    def shape(self) -> Shape:
        return Shape((1, self.side, self.side), 1, self.train_examples)

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        direction = self.direction()
        counts = {"train": self.train_examples, "test": self.test_examples}
        splits = {}
        for split, examples in counts.items():
            inputs, positive = drawn(
                direction, examples, self.epsilon, generator(seed, f"linear separable {split}")
            )
            images = inputs.view(examples, 1, self.side, self.side).to(device)
            splits[split] = Split.clean(shared_inputs(images), positive.to(device))
        return Dataset(
            name=self.name,
            train=splits["train"],
            test=splits["test"],
            classes=2,
            input_shape=(1, self.side, self.side),
            checksums={},
        )

    def direction(self) -> Tensor:
        vectors, path = self.directions.array(), self.directions.path
        if vectors.shape[1] != self.side**2:
            raise UserError(
                f"data.side={self.side}: {path} has directions of {vectors.shape[1]} pixels"
            )
        if self.index > len(vectors):
            raise UserError(f"data.index={self.index}: {path} has {len(vectors)} directions")
        return torch.from_numpy(vectors[self.index - 1].copy()).float()


def drawn(
    u: Tensor, examples: int, epsilon: float, source: torch.Generator
) -> tuple[Tensor, Tensor]:
    """x (examples, pixels) and the classes: 1 for y = 1, else 0."""
    positive = torch.randint(2, (examples,), generator=source)
    noise = torch.randn(examples, len(u), generator=source)
    y = 2.0 * positive - 1
    return noise + torch.outer(epsilon * y - noise @ u, u), positive
