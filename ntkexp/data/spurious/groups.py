"""Labels and a spurious attribute: how many of each pair, and balanced groups to evaluate on.

George's thesis, section 5.3.3: accuracy is measured separately on images with and without the
spurious attribute, 180 of each pair of label and attribute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from ntkexp.data.spurious.options import Kind, Shares
from ntkexp.errors import UserError
from ntkexp.seeds import generator

LABELS = ("negative", "positive")


@dataclass(frozen=True)
class Marks:
    """Who is positive, and who has the attribute."""

    positive: Tensor  # (n,) bool
    attribute: Tensor  # (n,) bool

    def __len__(self) -> int:
        return len(self.positive)

    def of(self, rows: Tensor) -> Marks:
        return Marks(self.positive[rows], self.attribute[rows])

    def with_attribute(self, kind: Kind) -> Tensor:
        """(n,): who counts as with the spurious attribute."""
        return self.attribute if kind is Kind.celeba else self.attribute == self.positive

    def described(self) -> str:
        """How many there are of each pair."""
        pairs = product((True, False), (True, False))
        counts = [
            f"{int(((self.positive == label) & (self.attribute == mark)).sum()):,} "
            f"{LABELS[label]} {'with' if mark else 'without'} the attribute"
            for mark, label in pairs
        ]
        return ", ".join(counts)


def counts_of(shares: Shares, total: int) -> Shares:
    """`total` images parted by shares, at least one of each; the largest part takes what is left.

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
    """How many images in these shares so many positives and negatives give."""
    total = min(most, int(positives / shares.positive), int(negatives / (1 - shares.positive)))
    while total > 0 and not _enough(counts_of(shares, total), positives, negatives):
        total -= 1
    if total < len(shares):
        raise UserError(
            f"data={name}: {positives} positive and {negatives} negative images are too few for "
            "its proportions; expected one or more of each label with and without the attribute"
        )
    if wanted is not None and not len(shares) <= wanted <= total:
        raise UserError(
            f"data.train_examples={wanted}: {positives:,} positive and {negatives:,} negative "
            f"images give {len(shares)} to {total:,} in these proportions"
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
    found: dict[str, Tensor] = {}
    chosen = marks.with_attribute(kind)
    for name, members in (("with", chosen), ("without", ~chosen)):
        pairs = [members & (marks.positive == label) for label in (False, True)]
        size = min(most, *(int(pair.sum()) for pair in pairs))
        if size == 0:
            raise UserError(
                f"{purpose} images: no image of one label is {name} the attribute; expected one or "
                "more, so that accuracy can be measured there"
            )
        for label, pair in zip(LABELS, pairs, strict=True):
            found[f"{label}_{name}"] = drawn(pair, size, seed, f"{purpose} {label} {name}")
        found[name] = found[f"negative_{name}"] | found[f"positive_{name}"]
    return found | {"balanced": found["with"] | found["without"]}


def drawn(members: Tensor, count: int, seed: int, purpose: str) -> Tensor:
    """The mask of `count` of those whom the mask `members` has, by the stream `purpose`."""
    rows = members.nonzero()[:, 0]
    order = torch.randperm(len(rows), generator=generator(seed, purpose))
    mask = torch.zeros_like(members)
    mask[rows[order[:count]]] = True
    return mask


def shortfall(groups: Mapping[str, Tensor], most: int, split: str) -> list[str]:
    """In what the groups are smaller than was asked for."""
    return [
        f"{split}: {int(mask.sum())} images of a label {name.partition('_')[2]} the attribute to "
        f"evaluate on, {most} were asked for"
        for name, mask in groups.items()
        if name.startswith("positive_") and int(mask.sum()) < most
    ]
