"""Decoded images, kept in the user's cache so that only the first run pays for the decoding."""

from __future__ import annotations

import os
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ntkexp.data.images.labelled import Labels, Pixels

Decoded = tuple[Pixels, Labels, bool]  # pixels, labels, lossy


def cache_directory() -> Path:
    """$NTKEXP_CACHE, or ntkexp in the user's cache directory."""
    if chosen := os.environ.get("NTKEXP_CACHE"):
        return Path(chosen).expanduser()
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(caches).expanduser() / "ntkexp"


@dataclass(frozen=True)
class Kept:
    """A decoded file in the cache; `kind` is the dataset's name."""

    path: Path
    kind: str
    size_bytes: int


def kept_files(kinds: Collection[str] = ()) -> list[Kept]:
    """What the cache holds, of these datasets or of all."""
    found = []
    for path in sorted((cache_directory() / "decoded").glob("*.npz")):
        kind = path.name.rpartition("-")[0]
        # A name that begins with a dot is a file that somebody is writing.
        if not path.name.startswith(".") and (not kinds or kind in kinds):
            found.append(Kept(path, kind, path.stat().st_size))
    return found


def forget(kinds: Collection[str] = ()) -> list[Kept]:
    """Remove decoded images from the cache; the next run decodes them again."""
    gone = kept_files(kinds)
    for kept in gone:
        kept.path.unlink(missing_ok=True)
    return gone


def decoded_once(kind: str, sha256: str, decode: Callable[[], Decoded]) -> Decoded:
    """What `decode` returns for the file with this checksum, from the cache where it has it.

    `kind` names the dataset: a file that was decoded as one is not taken for another.
    """
    path = cache_directory() / "decoded" / f"{kind}-{sha256}.npz"
    try:
        with path.open("rb") as file, np.load(file) as kept:
            return kept["pixels"], kept["labels"], bool(kept["lossy"])
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        pass  # damaged by something else than this program, which writes it whole: make it anew
    decoded = decode()
    try:
        _write_whole(path, decoded)
    except OSError as error:
        warnings.warn(f"{path}: cannot keep the decoded images ({error})", stacklevel=2)
    return decoded


def _write_whole(path: Path, decoded: Decoded) -> None:
    """Written under another name and then renamed, so that no reader sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels, labels, lossy = decoded
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".npz")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, pixels=pixels, labels=labels, lossy=np.array(lossy))
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
