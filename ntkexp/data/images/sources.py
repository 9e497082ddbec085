"""Images are looked for under $NTKEXP_DATA: first torchvision's own files, then Hugging Face
image parquet, then a download by torchvision."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from ntkexp import components
from ntkexp.data.images import parquet as image_parquet
from ntkexp.data.images import torchvision
from ntkexp.data.images.files import (
    LabelledImages,
    SourceFile,
    cache_directory,
    kept_files,
    shared_images,
)
from ntkexp.data.images.options import ImageKind, SplitName
from ntkexp.errors import UserError

SPLITS: tuple[SplitName, ...] = ("train", "test")


def data_directory() -> Path:
    """$NTKEXP_DATA, or data in the user's cache directory of ntkexp."""
    if chosen := os.environ.get("NTKEXP_DATA"):
        return Path(chosen).expanduser()
    return cache_directory() / "data"


def image_sets() -> dict[str, ImageKind]:
    """Every image set there is, by the name of its file."""
    kinds = ((name, components.find("data", name)) for name in components.names("data"))
    sets = ((name, getattr(kind, "images", None)) for name, kind in kinds)
    # A set that takes the images of another one (data=scored_mnist) is none itself.
    return {name: kind for name, kind in sets if isinstance(kind, ImageKind) and kind.name == name}


def kind_of(name: str) -> ImageKind:
    sets = image_sets()
    if name not in sets:
        raise UserError(f"data.name={name}: the image datasets are {', '.join(sets)}")
    return sets[name]


def read(name: str, split: SplitName, *, progress: bool = True) -> LabelledImages:
    """One split of the image set with this name."""
    return read_images(kind_of(name), split, progress=progress)


def read_images(kind: ImageKind, split: SplitName, *, progress: bool = True) -> LabelledImages:
    """One split of an image set. Both splits always come from the same layout."""
    return shared_images(kind.name, split, lambda: _read(kind, split, progress=progress))


def _read(kind: ImageKind, split: SplitName, *, progress: bool) -> LabelledImages:
    root = data_directory()
    if _missing_from_torchvision(root, kind) and not _missing_parquet(root, kind):
        return image_parquet.read(root, kind, split, progress=progress)
    if _missing_from_torchvision(root, kind):
        _download(root, kind)
    return torchvision.read(root, kind, split)


def remarks(kind: ImageKind, split: SplitName, images: LabelledImages) -> list[str]:
    """The differences to the official dataset, for whoever reads the results."""
    notes = []
    name, official = kind.name, kind.examples[split]
    if len(images) != official:
        notes.append(f"{name}: {len(images):,} {split} images, the official set has {official:,}")
    if images.lossy:
        notes.append(f"{name}: the {split} images are JPEG copies, not the exact ones")
    return notes


def checksums(files: tuple[SourceFile, ...]) -> dict[str, str]:
    """File -> sha256, files named as they lie under the data directory."""
    root = data_directory()
    return {file.path.relative_to(root).as_posix(): file.sha256 for file in files}


def files_here(kind: ImageKind, splits: Sequence[SplitName] = SPLITS) -> dict[str, str]:
    """File -> sha256 of all that a run reads of these splits; empty where some are not here."""
    root = data_directory()
    missing = _missing_from_torchvision(root, kind)
    if missing and _missing_parquet(root, kind):
        return {}
    files = image_parquet.files if missing else torchvision.files
    paths = (path for split in splits for path in files(root, kind, split))
    return {path.relative_to(root).as_posix(): sha256_of(path) for path in paths}


def sha256_of(path: Path) -> str:
    try:
        facts = path.stat()
        return _sha256(path, facts.st_size, facts.st_mtime_ns)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error


@cache
def _sha256(path: Path, size: int, changed: int) -> str:
    """Once a process: the jobs of a sweep mostly read the same files."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _missing_from_torchvision(root: Path, kind: ImageKind) -> list[Path]:
    wanted = [path for split in SPLITS for path in torchvision.files(root, kind, split)]
    # A folder or a dangling link in the place of a file is not missing: reading it says what is
    # wrong, where a download would hide it.
    return [path for path in wanted if not os.path.lexists(path)]


def _missing_parquet(root: Path, kind: ImageKind) -> list[Path]:
    return [
        root / kind.name / f"{split}-*.parquet"
        for split in SPLITS
        if not image_parquet.files(root, kind, split)
    ]


def _download(root: Path, kind: ImageKind) -> None:
    """Let torchvision download into a folder of its own, and move the files in when complete."""
    if kind.torchvision is None:
        raise UserError(_three_ways(root, kind, "no class of torchvision.datasets has them"))
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root, prefix=".download-") as folder:
            fetch = getattr(torchvision.torchvision_datasets(), kind.torchvision)
            fetch(folder, download=True)
            for path in _missing_from_torchvision(root, kind):
                path.parent.mkdir(parents=True, exist_ok=True)
                (Path(folder) / path.relative_to(root)).replace(path)
    except (OSError, RuntimeError, ImportError) as error:
        raise UserError(_three_ways(root, kind, error)) from error


def _three_ways(root: Path, kind: ImageKind, error: Exception | str) -> str:
    def listed(paths: list[Path]) -> str:
        return ", ".join(map(str, paths))

    reason = " ".join(str(error).split())
    return (
        f"data.name={kind.name}: no images found under {root} (NTKEXP_DATA says where to look), "
        f"and `ntkexp data {kind.name}` cannot fetch them: {reason}\n"
        f"  either torchvision's files, missing: {listed(_missing_from_torchvision(root, kind))}\n"
        f"  or image parquet (columns image or img, label), missing: "
        f"{listed(_missing_parquet(root, kind))}"
    )


def inventory(names: Sequence[str] = (), *, forget: bool = False) -> str:
    """Read the image sets to their end and list their files. A missing set is fetched if it is
    named. `forget` removes the decoded copies of the cache instead.
    """
    sets = image_sets()
    for name in names:
        if name not in sets:
            raise UserError(f"ntkexp data {name}: no such images; expected {', '.join(sets)}")
    if forget:
        kept = kept_files(names)
        answer = f"forgot {_summary(kept)}"
        for path in kept:
            path.unlink(missing_ok=True)
        return answer
    lines = [f"under {data_directory()}:"]
    for name in names or sets:
        root, kind = data_directory(), sets[name]
        available = not (_missing_from_torchvision(root, kind) and _missing_parquet(root, kind))
        if not names and not available:
            lines.append(f"{name}: not here; ntkexp data {name} fetches it")
            continue
        lines.append(name)
        splits = {split: read_images(kind, split) for split in SPLITS}
        lines += [
            f"  {file.path.name:<36} {file.size_bytes:>11,} bytes  sha256 {file.sha256}"
            for images in splits.values()
            for file in images.files
        ]
        for split, images in splits.items():
            lines += [f"  note: {remark}" for remark in remarks(kind, split, images)]
    lines.append(f"cache: {_summary(kept_files())}; ntkexp data --forget removes them")
    return "\n".join(lines)


def _summary(kept: Sequence[Path]) -> str:
    size = sum(path.stat().st_size for path in kept)
    return f"{len(kept)} decoded files, {size / 1e6:.1f} MB, in {cache_directory() / 'decoded'}"
