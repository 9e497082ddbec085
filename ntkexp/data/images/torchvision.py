"""Images in the files that torchvision keeps: idx for MNIST and KMNIST, pickles for CIFAR-10.

torchvision itself only downloads them. Its readers refuse a CIFAR-10 that is not the official one,
say little of a torn file, and would add its import to the start of every run.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import math
import pickle
import struct
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from ntkexp.data.images.files import (
    LabelledImages,
    Labels,
    Pixels,
    SourceFile,
    check_labels,
    opened,
)
from ntkexp.data.images.options import ImageKind, SplitName
from ntkexp.errors import UserError

IDX_PREFIXES: dict[SplitName, str] = {"train": "train", "test": "t10k"}
CIFAR_FOLDER = "cifar-10-batches-py"
CIFAR_FILES: dict[SplitName, tuple[str, ...]] = {
    "train": tuple(f"data_batch_{i}" for i in range(1, 6)),
    "test": ("test_batch",),
}
IDX_BYTES = 0x08  # the type code of unsigned bytes in an idx file's magic number
# The operators that torchvision 0.26 to 0.30 decorates without asking whether they are there.
MISSING_OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
# A library's operators live as long as the object does.
_declared: list[torch.library.Library] = []


def files(root: Path, kind: ImageKind, split: SplitName) -> tuple[Path, ...]:
    """The files that one split consists of, whether they exist or not; the folder of idx files is
    named as torchvision names the set, or as it is called itself."""
    if kind.pickled:
        return tuple(root / CIFAR_FOLDER / name for name in CIFAR_FILES[split])
    folder, prefix = root / (kind.torchvision or kind.name) / "raw", IDX_PREFIXES[split]
    return folder / f"{prefix}-images-idx3-ubyte", folder / f"{prefix}-labels-idx1-ubyte"


def read(root: Path, kind: ImageKind, split: SplitName) -> LabelledImages:
    """One split, out of torchvision's folders under `root`."""
    paths = files(root, kind, split)
    if kind.pickled:
        return _read_pickles(paths, kind)
    return _read_idx_pair(paths[0], paths[1], kind)


def _read_idx_pair(images: Path, labels_path: Path, kind: ImageKind) -> LabelledImages:
    pixels, images_file = _read_idx(images, kind.shape[1:])
    labels, labels_file = _read_idx(labels_path, ())
    if len(pixels) != len(labels):
        raise UserError(f"{labels_path}: {len(labels)} labels for {len(pixels)} images")
    labels = labels.astype(np.int64)
    check_labels(labels, kind, labels_path)
    return LabelledImages(pixels.reshape(-1, *kind.shape), labels, (images_file, labels_file))


def _read_idx(path: Path, row: tuple[int, ...]) -> tuple[Any, SourceFile]:
    """An idx file: 0, 0, type, number of dimensions, the sizes as big-endian uint32, the values."""
    with opened(path) as file:
        content = file.read()
    dimensions = 1 + len(row)
    header = 4 + 4 * dimensions
    if len(content) < header or content[:4] != bytes([0, 0, IDX_BYTES, dimensions]):
        raise UserError(f"{path}: not an idx file of {dimensions}-dimensional unsigned bytes")
    sizes = struct.unpack(f">{dimensions}I", content[4:header])
    expected = header + sizes[0] * math.prod(row)
    if sizes[1:] != row or len(content) != expected:
        raise UserError(
            f"{path}: {len(content):,} bytes, expected {expected:,} for {sizes[0]:,} rows; the "
            "file is torn, fetch it again"
        )
    # A copy: torch warns of memory that it must not write to.
    values = np.frombuffer(content, np.uint8, offset=header).reshape(sizes).copy()
    return values, _source_file(path, content)


class _ArraysOnly(pickle.Unpickler):
    """CIFAR-10's files are pickles, which could run any code: let them make arrays, no more."""

    allowed = frozenset({"_reconstruct", "ndarray", "dtype", "encode"})

    def find_class(self, module: str, name: str) -> Any:
        if name not in self.allowed or module.split(".")[0] not in {"numpy", "_codecs"}:
            raise pickle.UnpicklingError(f"it holds {module}.{name}, which is no array")
        # The files were written when numpy._core was called numpy.core.
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def _read_pickles(paths: tuple[Path, ...], kind: ImageKind) -> LabelledImages:
    pixels: list[Pixels] = []
    labels: list[Labels] = []
    sources: list[SourceFile] = []
    for path in paths:
        with opened(path) as file:
            content = file.read()
        try:
            batch = _ArraysOnly(io.BytesIO(content), encoding="latin1").load()
            row_labels = np.asarray(batch["labels"], dtype=np.int64)
            pixels.append(batch["data"].reshape(len(row_labels), *kind.shape))
        except Exception as error:  # a torn pickle raises nearly anything
            raise UserError(f"{path}: not a readable CIFAR-10 batch ({error})") from error
        check_labels(row_labels, kind, path)
        labels.append(row_labels)
        sources.append(_source_file(path, content))
    return LabelledImages(np.concatenate(pixels), np.concatenate(labels), tuple(sources))


def _source_file(path: Path, content: bytes) -> SourceFile:
    return SourceFile(path, len(content), hashlib.sha256(content).hexdigest())


def torchvision_datasets() -> ModuleType:
    """The module torchvision.datasets, even where torchvision's compiled part does not fit torch.

    PyPI's torchvision is built against PyPI's torch. Beside a CPU-only torch its compiled extension
    does not load, the operators that it would define are missing, and the plain import fails on the
    first line of Python that decorates one: "operator torchvision::nms does not exist". Downloads
    call none of them: declaring them, names and types without code, lets the import pass.
    """
    try:
        return importlib.import_module("torchvision.datasets")
    except RuntimeError as error:
        if "operator torchvision::" not in str(error) or _declared:
            raise
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]  # half imported
    library = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]
    for schema in MISSING_OPERATORS:
        if not hasattr(torch.ops.torchvision, schema.partition("(")[0]):
            library.define(schema)  # type: ignore[no-untyped-call]
    _declared.append(library)
    return importlib.import_module("torchvision.datasets")
