"""Where the examples of `ntkexp probe` come from."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
import torch
from PIL import Image

from ntkexp.errors import UserError
from ntkexp.foreign.examples import checksums, examples, splits_of

X, Y = np.arange(24.0).reshape(6, 4), np.arange(6) % 2


def test_an_npz_file_has_both_splits_and_what_is_known_of_labels(tmp_path: Path) -> None:
    file = tmp_path / "mine.npz"
    noisy = np.arange(6) == 2
    np.savez(file, x_train=X, y_train=Y, x_test=X + 1, y_test=Y, noisy=noisy, clean=1 - Y)
    splits = examples(str(file), 0)
    train = splits["train"]
    assert train.inputs.dtype == torch.float32
    assert torch.equal(splits["test"].inputs, train.inputs + 1)
    assert train.subsets()["noisy"].tolist() == noisy.tolist()
    assert train.clean_targets.tolist() == (1 - Y).tolist()


def test_a_folder_has_a_folder_of_images_a_class(tmp_path: Path) -> None:
    for split in ("train", "test"):
        for number, kind in enumerate(("cat", "dog")):
            (tmp_path / split / kind).mkdir(parents=True)
            image = Image.new("RGB", (5, 3), (255 * number, 0, 0))
            image.save(tmp_path / split / kind / "one.png")
    train = examples(str(tmp_path), 0)["train"]
    assert train.inputs.shape == (2, 3, 3, 5)
    assert train.targets.tolist() == [0, 1]
    assert train.inputs[1, 0].eq(1).all()


@pytest.mark.parametrize("mode", ["P", "1", "I;16"])
def test_images_of_every_kind_lie_between_0_and_1(tmp_path: Path, mode: str) -> None:
    image = Image.new("RGB", (5, 3), (204, 102, 0))
    if mode == "P":
        image, values = image.quantize(4), [0.8, 0.4, 0.0]
    elif mode == "1":
        image, values = Image.new("1", (5, 3), 1), [1.0]
    else:
        image, values = Image.fromarray(np.full((3, 5), 52428, np.uint16)), [0.8]
    for split in ("train", "test"):
        (tmp_path / split / "cat").mkdir(parents=True)
        image.save(tmp_path / split / "cat" / "one.png")
    inputs = examples(str(tmp_path), 0)["train"].inputs
    assert inputs[0, :, 0, 0].tolist() == pytest.approx(values)


def test_a_broken_png_is_named(tmp_path: Path) -> None:
    file = tmp_path / "train" / "cat" / "one.png"
    file.parent.mkdir(parents=True)
    Image.new("L", (90, 90)).save(file)
    content = file.read_bytes()
    length = content.index(b"IDAT") - 4
    file.write_bytes(content[:length] + bytes([0, 0, 0, 9]) + content[length + 4 :])
    with pytest.raises(UserError, match=r"one\.png: is no image that can be read"):
        examples(str(tmp_path), 0)


def a_png(path: Path, side: int) -> None:
    """A small file that says how large its image is."""
    path.parent.mkdir(parents=True)
    Image.new("L", (9, 9)).save(path)
    content = path.read_bytes()
    header = b"IHDR" + struct.pack(">II", side, side) + content[24:29]
    path.write_bytes(content[:12] + header + struct.pack(">I", zlib.crc32(header)) + content[33:])


def test_an_image_of_30000_by_30000_is_refused(tmp_path: Path) -> None:
    a_png(tmp_path / "train" / "cat" / "one.png", 30_000)
    with pytest.raises(UserError, match=r"one\.png: is no image that can be read \(Image size"):
        examples(str(tmp_path), 0)


@pytest.mark.parametrize(("kind", "ending"), [("PPM", "ppm"), ("EPS", "eps"), ("PSD", "psd")])
def test_other_formats_are_not_decoded(tmp_path: Path, kind: str, ending: str) -> None:
    file = tmp_path / "train" / "cat" / f"one.{ending}"
    file.parent.mkdir(parents=True)
    if kind == "PSD":
        file.write_bytes(b"8BPS" + struct.pack(">H6xHIIHH", 1, 1, 9, 9, 8, 1) + bytes(99))
    else:
        Image.new("L", (9, 9)).save(file, kind)
    with pytest.raises(UserError, match=r"is no image that .*; expected PNG, JPEG, TIFF, BMP"):
        examples(str(tmp_path), 0)


def test_an_npz_file_that_says_16_gb_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.npz"
    header = BytesIO()
    about = {"descr": "<f4", "fortran_order": False, "shape": (2**32,)}
    np.lib.format.write_array_header_1_0(header, about)
    with ZipFile(file, "w") as archive:
        archive.writestr("x_train.npy", header.getvalue() + bytes(99))
    with pytest.raises(UserError, match=r"mine\.npz: cannot be read"):
        examples(str(file), 0)


X_Y = (torch.from_numpy(X).float(), torch.from_numpy(Y))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"test": ((X_Y[0],), X_Y[1])}, "train has one tensor, test has a tuple of 1"),
        ({"train": ({"a": X_Y[0], "b": X_Y[0]}, X_Y[1]), "test": ({"b": X_Y[0], "a": X_Y[0]},
         X_Y[1])}, "train has a dict of a, b, test has a dict of b, a"),
        ({"noisy": torch.ones(3)}, r"noisy is \(3,\), of 6 training examples"),
        ({"clean": torch.tensor(1)}, r"clean is \(\), of 6 training examples"),
        ({"difficult": ["no"] * 6}, "difficult: too many dimensions 'str'"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_told(given: dict[str, object], told: str) -> None:
    with pytest.raises(UserError, match=told):
        splits_of("mine", {"train": X_Y, "test": X_Y} | given)


def test_other_examples_have_other_checksums(tmp_path: Path) -> None:
    sums = []
    for value in (0.0, 0.0, 1.0):
        file = tmp_path / f"{len(sums)}.npz"
        np.savez(file, x_train=X + value, y_train=Y, x_test=X, y_test=Y)
        sums.append([*checksums(str(file), 0).values()])
    assert sums[0] == sums[1]
    assert sums[0][0] != sums[2][0]
    assert sums[0][1] == sums[2][1]


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.npz"
    np.savez(file, x_train=X, y_train=Y)
    with pytest.raises(UserError, match="has no x_test, y_test"):
        examples(str(file), 0)
    np.savez(tmp_path / "short.npz", x_train=X, y_train=Y[:3], x_test=X, y_test=Y)
    with pytest.raises(UserError, match="train has 6 inputs and 3 labels"):
        examples(str(tmp_path / "short.npz"), 0)
    (tmp_path / "no.npz").write_bytes(b"nothing")
    with pytest.raises(UserError, match=r"no\.npz: cannot be read"):
        examples(str(tmp_path / "no.npz"), 0)
    (tmp_path / "images" / "train" / "cat").mkdir(parents=True)
    (tmp_path / "images" / "train" / "cat" / ".DS_Store").write_bytes(b"nothing")
    with pytest.raises(UserError, match=r"\.DS_Store: is no image that can be read"):
        examples(str(tmp_path / "images"), 0)


@pytest.mark.parametrize("kind", [np.int32, np.uint8, bool])
def test_labels_may_be_whole_numbers_of_any_size(tmp_path: Path, kind: type) -> None:
    file = tmp_path / "mine.npz"
    np.savez(file, x_train=X, y_train=Y.astype(kind), x_test=X, y_test=Y, clean=Y.astype(kind))
    train = examples(str(file), 0)["train"]
    assert train.targets.dtype == train.clean_targets.dtype == torch.int64
    assert train.targets.tolist() == Y.tolist()
