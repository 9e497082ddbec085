"""Two digits of MNIST with numbers as targets: the best linear fit of their classes, or its sign.

ntkexp train data=fitted_digits data.targets=sign model=bias_free_mlp

LeJeune and Alemohammad, "An Adaptive Tangent Feature Perspective of Neural Networks", Figure 1 and
appendix B.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar

from ntkexp.data.base import Data, Shape
from ntkexp.data.mnist import Mnist
from ntkexp.errors import UserError
from ntkexp.options import count, each, option, whole

if TYPE_CHECKING:
    import torch

    from ntkexp.data.dataset import Dataset


class Targets(StrEnum):
    """linear: y = z(x)^T b, the fit itself. sign: sign(y), which is not the class."""

    linear = "linear"
    sign = "sign"


class TargetFit(StrEnum):
    """least_squares: exactly. sgd: 500 epochs of momentum SGD, as the networks are trained."""

    least_squares = "least_squares"
    sgd = "sgd"


class Pixels(StrEnum):
    """unit_norm: an image less its mean, over its norm. unit_variance: 28 times that."""

    unit_norm = "unit_norm"
    unit_variance = "unit_variance"


@dataclass
class FittedDigits(Data):
    """The first digit of the two is -1, the second +1; z are the last hidden units of a random
    network of `depth` x `width` ReLU units without biases, independent of the one trained.

    `test_examples` is the most of them: MNIST has 2,042 for the digits 2 and 3.
    `clean_targets` of the splits are the linear ones, whatever is trained on.
    """

    small: ClassVar = {"train_examples": 200, "test_examples": 500}

    digits: list[int] = option([2, 3], each(whole(0, 9, "as a digit")))
    targets: Targets = Targets.linear
    fit: TargetFit = TargetFit.least_squares
    pixels: Pixels = Pixels.unit_norm
    depth: int = option(2, count("hidden layers", most=100))
    width: int = option(128, count("units", most=100_000))
    train_examples: int = option(500, count("examples"))
    test_examples: int | None = option(None, count("examples", null="for all"))

    def check(self, config: Any = None) -> None:
        if len(set(self.digits)) != 2 or len(self.digits) != 2:
            raise UserError(f"data.digits={self.digits}: expected two digits that differ")

    def shape(self) -> Shape:
        return Shape(Mnist.images.shape, 1, self.train_examples)

    def files(self) -> Mapping[str, str]:
        from ntkexp.data.images.sources import files_here

        return files_here(Mnist())

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        from ntkexp.data.images.linear_targets import load_digits

        return load_digits(self, seed, device, progress=progress)
