"""What sets of images with a spurious attribute have in common: options, kinds and proportions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, NamedTuple

from ntkexp.data.base import Data, Shape
from ntkexp.options import count, option, whole

# As many training images as George's thesis takes of CelebA (5.3.3).
MOST_EXAMPLES = 20_000


class Kind(StrEnum):
    """Whose proportions, and what `with` and `without` the spurious attribute mean.

    celeba: the attribute is there or not (women, men), and each of the two holds few positives.
    waterbirds: label and attribute (bird, background) agree or not.
    """

    celeba = "celeba"
    waterbirds = "waterbirds"


class Shares(NamedTuple):
    """Parts of a training set, by label and attribute; they add up to one."""

    positive_with: float
    negative_with: float
    positive_without: float
    negative_without: float

    @property
    def positive(self) -> float:
        return self.positive_with + self.positive_without


def _celeba(attribute: float, positive_with: float, positive_without: float) -> Shares:
    others = 1 - attribute
    return Shares(
        attribute * positive_with,
        attribute * (1 - positive_with),
        others * positive_without,
        others * (1 - positive_without),
    )


# CelebA: 58 % of its training images show women, of whom 24 % are blond; of the men 2 % are.
# Waterbirds: label and background agree for 95 %; its labels are taken in equal parts here.
SHARES = {
    Kind.celeba: _celeba(0.58, 0.24, 0.02),
    Kind.waterbirds: Shares(0.475, 0.025, 0.025, 0.475),
}


@dataclass
class SpuriousImages(Data):
    """Two classes, 1 the positive one. The test split has `balanced` images of each of the four
    pairs of label and attribute.

    Groups of both splits: `with` and `without` the spurious attribute, each half positive;
    `balanced`, the two together; and their four pairs, such as `positive_with`. They hold at most
    `balanced` images a pair, fewer where there are no more, which a remark of the run says.
    """

    small: ClassVar = {"train_examples": 2000}

    train_examples: int | None = option(
        None, count("examples", null=f"for all there are, at most {MOST_EXAMPLES:,}")
    )
    balanced: int = option(180, count("images of each label with and without the attribute"))


@dataclass
class Photographs(SpuriousImages):
    """Photographs of a published set, cut to a square and scaled to `size` x `size` pixels."""

    size: int = option(64, whole(8, 1024, "pixels a side"))

    def shape(self) -> Shape:
        return Shape((3, self.size, self.size), 1, self.train_examples)
