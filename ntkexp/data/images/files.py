"""Images as they were read from files; the cache that spares later runs the decoding, and what the
members of a run share."""

from __future__ import annotations

import os
import sys
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ntkexp.data.images.options import ImageKind, SplitName
from ntkexp.errors import UserError
from ntkexp.results.files import make_folder, replacing

Pixels = npt.NDArray[np.uint8]  # (n, channels, height, width)
Labels = npt.NDArray[np.int64]  # (n,)
Decoded = tuple[Pixels, Labels, bool]  # pixels, labels, and True if any image was a JPEG


@dataclass(frozen=True)
class SourceFile:
    """A file that images were read from."""

    path: Path
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
    """The file, opened to be read; an error is one line with its path."""
    try:
        return path.open("rb")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error


def check_labels(labels: Labels, kind: ImageKind, path: Path) -> None:
    """Refuse labels outside 0 ... classes - 1, naming the first row that has one."""
    wrong = np.flatnonzero((labels < 0) | (labels >= kind.classes))
    if len(wrong):
        row = int(wrong[0])
        raise UserError(f"{path}, row {row}: label {labels[row]}, expected 0 to {kind.classes - 1}")


def cache_directory() -> Path:
    """$NTKEXP_CACHE, or ntkexp in the user's cache directory."""
    if chosen := os.environ.get("NTKEXP_CACHE"):
        return Path(chosen).expanduser()
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(caches).expanduser() / "ntkexp"


def kept_files(kinds: Collection[str] = ()) -> list[Path]:
    """The files of the cache, those of some datasets or all."""
    kept = sorted((cache_directory() / "decoded").glob("[!.]*.npz"))
    return [path for path in kept if not kinds or path.name.rpartition("-")[0] in kinds]


def decoded_once(kind: str, sha256: str, decode: Callable[[], Decoded]) -> Decoded:
    """The result of `decode` for the file with this checksum, from the cache where it has it.

    `kind` names the dataset: a file that was decoded as one is not taken for another.
    """
    path = cache_directory() / "decoded" / f"{kind}-{sha256}.npz"
    try:
        with path.open("rb") as file, np.load(file) as kept:
            return kept["pixels"], kept["labels"], bool(kept["lossy"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        pass  # not there, or damaged by something else than this program, which writes it whole
    pixels, labels, lossy = decode()
    try:
        make_folder(path.parent)
        with replacing(path) as draft, draft.open("wb") as whole:
            np.savez(whole, pixels=pixels, labels=labels, lossy=np.array(lossy))
    except UserError as error:
        print(f"cannot keep the decoded images: {error}", file=sys.stderr)
    return pixels, labels, lossy


@dataclass
class _Kept:
    images: dict[tuple[str, SplitName], LabelledImages] = field(default_factory=dict)
    inputs: list[Tensor] = field(default_factory=list)


_kept: ContextVar[_Kept | None] = ContextVar("what was read before", default=None)


@contextmanager
def sharing() -> Iterator[None]:
    """Inside, images stay in memory once read, and equal inputs of networks are one tensor."""
    before = _kept.set(_Kept())
    try:
        yield
    finally:
        _kept.reset(before)


def shared_images(
    name: str, split: SplitName, read: Callable[[], LabelledImages]
) -> LabelledImages:
    """The result of `read`; inside `sharing` that of the first time."""
    if (kept := _kept.get()) is None:
        return read()
    if (name, split) not in kept.images:
        kept.images[name, split] = read()
    return kept.images[name, split]


def shared_inputs(inputs: Tensor) -> Tensor:
    """Inputs of equal numbers; inside `sharing` the tensor of the first who asked for them.

    Members of one seed see the same images whatever their label noise.
    """
    if (kept := _kept.get()) is None:
        return inputs
    for before in kept.inputs:
        if torch.equal(before, inputs):
            return before
    kept.inputs.append(inputs)
    return inputs
