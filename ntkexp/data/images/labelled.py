"""What a split of an image set is once it has been read."""

from __future__ import annotations

from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ntkexp.data.images.options import ImageKind, SplitName
from ntkexp.errors import UserError

Pixels = npt.NDArray[np.uint8]  # (n, channels, height, width)
Labels = npt.NDArray[np.int64]  # (n,)


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
