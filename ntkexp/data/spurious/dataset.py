"""From marked images to the splits of a run, with their groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.images.dataset import channel_moments, normalised
from ntkexp.data.images.labelled import Labels, Pixels
from ntkexp.data.spurious.groups import (
    Marks,
    balanced_groups,
    counts_of,
    shortfall,
    total_of,
)
from ntkexp.data.spurious.options import MOST_EXAMPLES, SHARES, Kind, SpuriousImages
from ntkexp.errors import UserError
from ntkexp.seeds import generator


@dataclass(frozen=True)
class Marked:
    """Images with their labels and attributes, in random order."""

    pixels: Pixels
    marks: Marks


class Mark(Protocol):
    """Puts the attribute, where the mask says so, on images of a split."""

    def __call__(self, pixels: Pixels, attribute: Tensor, split: str) -> Pixels: ...


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
    rows = [_of_classes(labels, own, seed, split) for own in classes]
    if split == "train":
        found = [len(own) for own in rows]
        total = total_of(
            SHARES[kind], found[1], found[0], config.train_examples, MOST_EXAMPLES, config.name
        )
        counts = counts_of(SHARES[kind], total)
    else:
        size = min(config.balanced, *(len(own) // 2 for own in rows))
        if size == 0:
            raise UserError(f"data={config.name}: the test images of its classes are too few")
        counts = type(SHARES[kind])(size, size, size, size)
    positive, negative = counts[::2], counts[1::2]  # with and without the attribute each
    chosen = torch.cat([rows[0][: sum(negative)], rows[1][: sum(positive)]])
    is_positive = torch.arange(len(chosen)) >= sum(negative)
    has = [torch.arange(sum(counts)) < counts[0] for counts in (negative, positive)]
    order = torch.randperm(len(chosen), generator=generator(seed, f"order {split}"))
    marks = Marks(is_positive, torch.cat(has)).of(order)
    return Marked(mark(pixels[chosen[order].numpy()], marks.attribute, split), marks)


def _of_classes(labels: Labels, classes: Sequence[int], seed: int, split: str) -> Tensor:
    """Rows of these classes, in the order of the seed."""
    known = torch.from_numpy(labels)
    rows = torch.isin(known, torch.tensor(list(classes))).nonzero()[:, 0]
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
    for name, one in zip(("train", "test"), splits, strict=True):
        groups = balanced_groups(one.marks, kind, config.balanced, seed, name)
        notes += [f"{name}: {one.marks.described()}", *shortfall(groups, config.balanced, name)]
        inputs = normalised(one.pixels, mean, std, device)
        split = Split.clean(inputs, one.marks.positive.long().to(device))
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
        pad_value=-torch.tensor(mean, device=device) / torch.tensor(std, device=device),
    )
