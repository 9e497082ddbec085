"""The yin-yang of two classes: points of the plane in large areas and in two small discs (5.3.1).

    ntkexp train +exp=lazy/yin_yang data.train_examples=200

It is that of George's thesis, Figure 5.1, and not the published set of three classes of that name;
its geometry is that of the code which belongs to it (https://github.com/tfjgeorge/lazy_vs_hasty).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.disk import lattice
from ntkexp.data.points import Plane
from ntkexp.options import count, option
from ntkexp.seeds import generator

RADIUS = 0.3
CENTRES = ((0.5, -0.5), (-0.5, 0.5))


@dataclass
class YinYang(Plane):
    """Points uniform in [-1, 1]^2, the lower half against the upper, the other way round in a disc
    of each; the test set is a grid x grid lattice of the square.

    Its groups: `discs`; `between` them and the boundary; and `open`, the quarters without a disc.
    """

    groups: ClassVar = frozenset({"discs", "between", "open"})

    train_examples: int = option(100, count("examples"), "training points")

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        stream = generator(seed, "yin_yang")
        draws = torch.rand(self.train_examples, 2, generator=stream, dtype=torch.float64)
        return Dataset(
            name="yin_yang",
            train=_split((2 * draws - 1).float(), device),
            test=_split(lattice(self.grid), device),
            classes=2,
            input_shape=(2,),
            checksums={},
        )


def labels(points: Tensor) -> Tensor:
    """y = -sign(x_2), reversed in the discs; as 1 and 0. The boundary belongs to class 0.

    >>> labels(torch.tensor([[0.9, -0.9], [0.5, -0.5], [-0.5, 0.5], [0.9, 0.9]])).tolist()
    [1, 0, 1, 0]
    """
    below = points[:, 1] < 0
    return (below ^ in_discs(points)).to(torch.int64)


def in_discs(points: Tensor) -> Tensor:
    """(n,): inside one of the two discs."""
    centres = points.new_tensor(CENTRES)
    return (torch.cdist(points.double(), centres.double()) < RADIUS).any(1)


def groups(points: Tensor) -> Mapping[str, Tensor]:
    """The areas that Figure 5.1 tells apart."""
    x, y = points.double().T
    discs = in_discs(points)
    # On the discs' side of the axis, as wide as a disc, and nearer to the boundary than its centre.
    beside = (x * y < 0) & ((x.abs() - 0.5).abs() < RADIUS) & (y.abs() < 0.5)
    return {"discs": discs, "between": beside & ~discs, "open": x * y > 0}


def _split(points: Tensor, device: torch.device) -> Split:
    split = Split.clean(points.to(device), labels(points).to(device))
    return replace(split, groups={name: mask.to(device) for name, mask in groups(points).items()})
