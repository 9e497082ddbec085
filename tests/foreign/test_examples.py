"""Where the examples of `ntkexp probe` come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from ntkexp.errors import UserError
from ntkexp.foreign.examples import checksums, examples

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
    with pytest.raises(UserError, match=r"\.DS_Store: is no image"):
        examples(str(tmp_path / "images"), 0)


@pytest.mark.parametrize("kind", [np.int32, np.uint8, bool])
def test_labels_may_be_whole_numbers_of_any_size(tmp_path: Path, kind: type) -> None:
    file = tmp_path / "mine.npz"
    np.savez(file, x_train=X, y_train=Y.astype(kind), x_test=X, y_test=Y, clean=Y.astype(kind))
    train = examples(str(file), 0)["train"]
    assert train.targets.dtype == train.clean_targets.dtype == torch.int64
    assert train.targets.tolist() == Y.tolist()
