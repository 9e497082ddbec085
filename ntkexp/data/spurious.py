"""Images with a spurious attribute: options, proportions, and balanced groups to evaluate on.

George's thesis, section 5.3.3: accuracy is measured separately on images with and without the
spurious attribute, 180 of each pair of label and attribute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from ntkexp.data.base import Data, Shape
from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.images.dataset import channel_moments, normalised
from ntkexp.data.images.files import LabelledImages, Labels, Pixels
from ntkexp.data.images.options import ImageKind, SplitName
from ntkexp.data.images.sources import checksums, remarks
from ntkexp.errors import UserError
from ntkexp.options import count, option, whole
from ntkexp.seeds import generator

# As many training images as George's thesis takes of CelebA (5.3.3).
MOST_EXAMPLES = 20_000


class Kind(StrEnum):
    """The set that gives the proportions, and the meaning of `with` and `without` the attribute.

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

    groups: ClassVar = frozenset(
        {
            "with",
            "without",
            "balanced",
            "negative_with",
            "negative_without",
            "positive_with",
            "positive_without",
        }
    )
    small: ClassVar = {"train_examples": 2000}
    tiny: ClassVar = {"train_examples": 30}

    train_examples: int | None = option(
        None,
        count("examples", null=f"for all there are, at most {MOST_EXAMPLES:,}"),
        "training images",
    )
    balanced: int = option(
        180,
        count("images of each label with and without the attribute"),
        "test images of each of the four pairs",
    )


@dataclass
class Photographs(SpuriousImages):
    """Photographs of a published set, cut to a square and scaled to `size` x `size` pixels."""

    tiny: ClassVar = {**SpuriousImages.tiny, "size": 16}

    size: int = option(64, whole(8, 1024, "pixels a side"), "height and width of an image")

    def shape(self) -> Shape:
        return Shape((3, self.size, self.size), 1, self.train_examples)


LABELS = ("negative", "positive")


@dataclass(frozen=True)
class Marks:
    """Masks over images: the positive ones, and those with the attribute."""

    positive: Tensor  # (n,) bool
    attribute: Tensor  # (n,) bool

    def __len__(self) -> int:
        return len(self.positive)

    def of(self, rows: Tensor) -> Marks:
        return Marks(self.positive[rows], self.attribute[rows])

    def with_attribute(self, kind: Kind) -> Tensor:
        """(n,): true for the images that count as with the spurious attribute."""
        return self.attribute if kind is Kind.celeba else self.attribute == self.positive

    def described(self) -> str:
        """The number of images of each pair, in words."""
        pairs = product((True, False), (True, False))
        counts = [
            f"{int(((self.positive == label) & (self.attribute == mark)).sum()):,} "
            f"{LABELS[label]} {'with' if mark else 'without'} the attribute"
            for mark, label in pairs
        ]
        return ", ".join(counts)


def counts_of(shares: Shares, total: int) -> Shares:
    """`total` images parted by shares, at least one of each where there are five or more; the
    largest part takes what is left.

    >>> counts_of(Shares(0.475, 0.025, 0.025, 0.475), 100)
    Shares(positive_with=48, negative_with=2, positive_without=2, negative_without=48)
    """
    counts = [max(1, round(share * total)) for share in shares]
    largest = counts.index(max(counts))
    counts[largest] += total - sum(counts)
    return Shares(*counts)


def total_of(
    shares: Shares, positives: int, negatives: int, wanted: int | None, most: int, name: str
) -> int:
    """The number of images that so many positives and negatives give in these shares."""
    total = min(most, int(positives / shares.positive), int(negatives / (1 - shares.positive)))
    while total > 0 and not _enough(counts_of(shares, total), positives, negatives):
        total -= 1
    if total < len(shares):
        raise UserError(
            f"data={name}: {positives} positive and {negatives} negative images are too few for "
            "its proportions; expected one or more of each label with and without the attribute"
        )
    if wanted is not None and not len(shares) < wanted <= total:
        raise UserError(
            f"data.train_examples={wanted}: {positives:,} positive and {negatives:,} negative "
            f"images give {len(shares) + 1} to {total:,} in these proportions"
        )
    return wanted or total


def _enough(counts: Shares, positives: int, negatives: int) -> bool:
    needed = counts.positive
    return min(counts) >= 1 and needed <= positives and sum(counts) - needed <= negatives


def balanced_groups(
    marks: Marks, kind: Kind, most: int, seed: int, purpose: str
) -> Mapping[str, Tensor]:
    """Masks (n,) of `with`, `without`, `balanced` and the four pairs, drawn by the seed.

    Both labels have the same number of images with, and without, the attribute: as many as the
    rarer of the two has, at most `most`.
    """
    groups: dict[str, Tensor] = {}
    chosen = marks.with_attribute(kind)
    for name, members in (("with", chosen), ("without", ~chosen)):
        pairs = [members & (marks.positive == label) for label in (False, True)]
        size = min(most, *(int(pair.sum()) for pair in pairs))
        if size == 0:
            raise UserError(
                f"{purpose.split()[0]} images: no image of one label is {name} the attribute; "
                "expected one or more, so that accuracy can be measured there"
            )
        for label, pair in zip(LABELS, pairs, strict=True):
            groups[f"{label}_{name}"] = drawn(pair, size, seed, f"{purpose} {label} {name}")
        groups[name] = groups[f"negative_{name}"] | groups[f"positive_{name}"]
    return groups | {"balanced": groups["with"] | groups["without"]}


def drawn(members: Tensor, count: int, seed: int, purpose: str) -> Tensor:
    """A mask of `count` of the images in the mask `members`, drawn by the stream `purpose`."""
    rows = members.nonzero()[:, 0]
    order = torch.randperm(len(rows), generator=generator(seed, purpose))
    mask = torch.zeros_like(members)
    mask[rows[order[:count]]] = True
    return mask


def shortfall(groups: Mapping[str, Tensor], most: int, split: str) -> list[str]:
    """A line for each two groups that are smaller than was asked for."""
    return [
        f"{split}: {int(mask.sum())} images of a label {name.partition('_')[2]} the attribute to "
        f"evaluate on, {most} were asked for"
        for name, mask in groups.items()
        if name.startswith("positive_") and int(mask.sum()) < most
    ]


@dataclass(frozen=True)
class Marked:
    """Images with their labels and attributes, in random order."""

    pixels: Pixels
    marks: Marks


# Puts the attribute, where the mask (n,) says so, on images of a split, train or test.
Mark = Callable[[Pixels, Tensor, str], Pixels]


def composed(
    config: SpuriousImages,
    kind: Kind,
    split: str,
    images: tuple[Pixels, Labels],
    classes: tuple[Sequence[int], Sequence[int]],
    mark: Mark,
    seed: int,
) -> Marked:
    """Images of negative and positive `classes` with an attribute that is put on them.

    The training split has the attribute in the kind's proportions, the test split every pair
    of label and attribute equally often.
    """
    pixels, labels = images
    rows = [_of_classes(labels, of_class, seed, split) for of_class in classes]
    if split == "train":
        available = [len(of_class) for of_class in rows]
        total = total_of(
            SHARES[kind],
            available[1],
            available[0],
            config.train_examples,
            MOST_EXAMPLES,
            config.name,
        )
        counts = counts_of(SHARES[kind], total)
    else:
        size = min(config.balanced, *(len(of_class) // 2 for of_class in rows))
        if size == 0:
            raise UserError(f"data={config.name}: the test images of its classes are too few")
        counts = Shares(size, size, size, size)
    positive, negative = counts[::2], counts[1::2]  # with and without the attribute each
    chosen = torch.cat([rows[0][: sum(negative)], rows[1][: sum(positive)]])
    is_positive = torch.arange(len(chosen)) >= sum(negative)
    with_attribute = [torch.arange(sum(counts)) < counts[0] for counts in (negative, positive)]
    order = torch.randperm(len(chosen), generator=generator(seed, f"order {split}"))
    marks = Marks(is_positive, torch.cat(with_attribute)).of(order)
    return Marked(mark(pixels[chosen[order].numpy()], marks.attribute, split), marks)


def dataset_with_marks(
    config: SpuriousImages,
    kind: Kind,
    sources: Mapping[SplitName, Sequence[tuple[ImageKind, LabelledImages]]],
    classes: tuple[Sequence[int], Sequence[int]],
    mark: Mark,
    seed: int,
    device: torch.device,
) -> Dataset:
    """Both splits with an attribute that is put on images of the first of `sources`; it is made of
    images of the others."""
    train, test = (
        composed(config, kind, split, (images.pixels, images.labels), classes, mark, seed)
        for split, ((_, images), *_) in sources.items()
    )
    read = [(split, *source) for split, of_split in sources.items() for source in of_split]
    return dataset_of(
        config,
        kind,
        (train, test),
        seed,
        device,
        checksums=checksums(tuple(file for _, _, images in read for file in images.files)),
        remarks=[note for split, of, images in read for note in remarks(of, split, images)],
    )


def _of_classes(labels: Labels, classes: Sequence[int], seed: int, split: str) -> Tensor:
    """Rows of these classes, in the order of the seed."""
    all_labels = torch.from_numpy(labels)
    rows = torch.isin(all_labels, torch.tensor(list(classes))).nonzero()[:, 0]
    pair = "-".join(map(str, classes))
    return rows[torch.randperm(len(rows), generator=generator(seed, f"{split} of {pair}"))]


def dataset_of(
    config: SpuriousImages,
    kind: Kind,
    splits: tuple[Marked, Marked],
    seed: int,
    device: torch.device,
    *,
    checksums: dict[str, str],
    remarks: Sequence[str],
) -> Dataset:
    """The dataset of a training and a test split; pixels are normalised by the training images."""
    mean, std = channel_moments(splits[0].pixels)
    if not all(std):
        raise UserError(f"data={config.name}: all pixels are alike; expected images that differ")
    notes = list(remarks)
    made = []
    for name, marked in zip(("train", "test"), splits, strict=True):
        groups = balanced_groups(marked.marks, kind, config.balanced, seed, name)
        notes += [f"{name}: {marked.marks.described()}", *shortfall(groups, config.balanced, name)]
        inputs = normalised(marked.pixels, mean, std, device)
        split = Split.clean(inputs, marked.marks.positive.long().to(device))
        made.append(replace(split, groups={key: m.to(device) for key, m in groups.items()}))
    return Dataset(
        name=config.name,
        train=made[0],
        test=made[1],
        classes=2,
        input_shape=tuple(splits[0].pixels.shape[1:]),
        checksums=checksums,
        remarks=tuple(notes),
        mean=mean,
        std=std,
    )
