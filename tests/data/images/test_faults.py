"""Files that are no images, or not those that were asked for, are refused in one line."""

from __future__ import annotations

import struct
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from ntkexp.data.images import parquet
from ntkexp.data.images.dataset import channel_moments
from ntkexp.data.images.options import ImageKind
from ntkexp.data.images.sources import read
from ntkexp.errors import UserError


def refused(says: str, name: str = "mnist") -> None:
    with pytest.raises(UserError, match=says) as refusal:
        read(name, "train", progress=False)  # type: ignore[arg-type]
    assert len(str(refusal.value).splitlines()) == 1


def png_of_size(width: int, height: int) -> bytes:
    """A valid header of a grey image that says it is this large, and hardly any data."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        checked = kind + content
        return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = zlib.compress(bytes(1000))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("side", [5_000, 10_000, 100_000])
def test_an_image_that_would_fill_the_memory_is_not_decoded(made_up: Any, side: int) -> None:
    path = made_up.parquet("mnist")
    bomb = {"bytes": png_of_size(side, side), "path": "0.png"}
    pd.DataFrame({"image": [bomb], "label": [0]}).to_parquet(path)
    refused(f"{path}, row 0: image ")


def test_images_decoded_as_one_kind_are_not_taken_for_another(made_up: Any) -> None:
    theirs = made_up.parquet("cifar10")
    ours = made_up.parquet("mnist")
    read("cifar10", "train", progress=False)
    content = theirs.read_bytes()
    ours.write_bytes(content)
    refused(f"{ours}, row 0: image is 32x32 RGB, expected 28x28 L")


def test_a_column_of_bytes_is_refused_by_its_name(made_up: Any) -> None:
    path = made_up.parquet("mnist")
    table = pd.read_parquet(path)
    table["image"] = [image["bytes"] for image in table["image"]]
    table.to_parquet(path)
    with pytest.raises(UserError, match="column image is binary, expected a struct"):
        read("mnist", "train")


def test_a_struct_without_bytes_is_refused_by_its_name(made_up: Any) -> None:
    path = made_up.parquet("mnist")
    pd.DataFrame({"image": [{"path": "0.png"}], "label": [0]}).to_parquet(path)
    refused("column image is struct<.*path: .*>, expected a struct of bytes and path")


def test_labels_from_the_cache_are_checked_too(made_up: Any) -> None:
    """Of a set of one's own whose number of classes was mended after a first reading."""
    made_up.parquet("mnist")
    ten, five = (ImageKind("mnist", (1, 28, 28), classes) for classes in (10, 5))
    assert parquet.read(made_up.root, ten, "train", progress=False).labels.max() == 9
    with pytest.raises(UserError, match="row 5: label 5, expected 0 to 4"):
        parquet.read(made_up.root, five, "train", progress=False)


@pytest.mark.parametrize("layout", ["parquet", "idx"])
def test_a_dangling_link_and_a_folder_are_named_and_not_downloaded_over(
    made_up: Any, layout: str
) -> None:
    made = made_up.parquet("mnist") if layout == "parquet" else made_up.idx("mnist")
    path: Path = made if layout == "parquet" else made / "train-images-idx3-ubyte"
    path.unlink()
    path.symlink_to("nowhere")
    refused(rf"{path}: cannot be read \(No such file or directory\)")
    path.unlink()
    path.mkdir()
    refused(rf"{path}: cannot be read \(Is a directory\)")


def test_a_file_without_permission_is_named(made_up: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made_up.parquet("mnist")

    def forbidden(self: Path, mode: str = "r") -> Any:
        raise PermissionError(13, "Permission denied")

    # Root may read everything, so that a mode of 000 would refuse nothing here.
    monkeypatch.setattr(Path, "open", forbidden)
    refused(rf"{path}: cannot be read \(Permission denied\)")


def test_pixels_of_idx_files_are_torchs_to_use_without_a_warning(made_up: Any) -> None:
    made_up.idx("mnist")
    images = read("mnist", "train", progress=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.from_numpy(images.pixels)
        channel_moments(images.pixels)
    assert images.pixels.dtype == np.uint8
