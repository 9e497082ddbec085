"""The image datasets that are known, and what a split of one is once it has been read."""

from __future__ import annotations

from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from ntkexp.config import IMAGE_CLASSES, IMAGE_SHAPES
from ntkexp.errors import UserError

SplitName = Literal["train", "test"]
Pixels = npt.NDArray[np.uint8]  # (n, channels, height, width)
Labels = npt.NDArray[np.int64]  # (n,)


@dataclass(frozen=True)
class ImageKind:
    """What every image of a dataset has in common, and how many there are officially.

    `mean` and `std` are those of the channels with pixels in [0, 1]; None is for those of the
    training split as it was read.
    """

    name: str
    shape: tuple[int, int, int]
    classes: int
    examples: dict[SplitName, int]
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None


KINDS = {
    kind.name: kind
    for kind in (
        ImageKind("mnist", IMAGE_SHAPES["mnist"], IMAGE_CLASSES, {"train": 60_000, "test": 10_000}),
        ImageKind(
            "kmnist", IMAGE_SHAPES["kmnist"], IMAGE_CLASSES, {"train": 60_000, "test": 10_000}
        ),
        ImageKind(
            "cifar10",
            IMAGE_SHAPES["cifar10"],
            IMAGE_CLASSES,
            {"train": 50_000, "test": 10_000},
            mean=(0.4914, 0.4822, 0.4465),
            std=(0.2023, 0.1994, 0.2010),
        ),
    )
}


@dataclass(frozen=True)
class SourceFile:
    """A file that images were read from."""

    path: Path
    split: SplitName
    layout: str
    rows: int
    size_bytes: int
    sha256: str


@dataclass(frozen=True)
class LabelledImages:
    """One split as it lies on disk. `lossy` says that (some of) the images were JPEG."""

    pixels: Pixels
    labels: Labels
    files: tuple[SourceFile, ...]
    lossy: bool = False

    def __len__(self) -> int:
        return len(self.labels)


def opened(path: Path) -> BufferedReader:
    """A file to read; in one line why it cannot be: a dangling link, a folder, no permission."""
    try:
        return path.open("rb")
    except OSError as error:
        if path.is_symlink() and not path.exists():
            raise UserError(f"{path}: a link to {path.readlink()}, where nothing is") from error
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error


def check_labels(labels: Labels, kind: ImageKind, path: Path) -> None:
    """Refuse labels outside 0 ... classes - 1, naming the first row that has one."""
    wrong = np.flatnonzero((labels < 0) | (labels >= kind.classes))
    if len(wrong):
        row = int(wrong[0])
        raise UserError(f"{path}, row {row}: label {labels[row]}, expected 0 to {kind.classes - 1}")
