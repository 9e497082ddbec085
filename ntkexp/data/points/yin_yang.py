"""The yin-yang of two classes (George's thesis, section 5.3.1; its geometry from the code that
belongs to it, https://github.com/tfjgeorge/lazy_vs_hasty)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from ntkexp.data.dataset import Dataset, Split
from ntkexp.data.points.disk import lattice
from ntkexp.data.yin_yang import YinYang
from ntkexp.seeds import generator

RADIUS = 0.3
CENTRES = ((0.5, -0.5), (-0.5, 0.5))


def load_yin_yang(config: YinYang, seed: int, device: torch.device) -> Dataset:
    """Training points uniform in [-1, 1]^2; the test split is a lattice of the square."""
    stream = generator(seed, "yin_yang")
    draws = torch.rand(config.train_examples, 2, generator=stream, dtype=torch.float64)
    return Dataset(
        name="yin_yang",
        train=_split((2 * draws - 1).float(), device),
        test=_split(lattice(config.grid), device),
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
