"""Images are read from three layouts, and a damaged file is named with its row."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Iterator
from functools import partial
from gzip import compress
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from ntkexp.data import load
from ntkexp.data.cifar10 import Cifar10
from ntkexp.data.images.files import sharing
from ntkexp.data.images.sources import checksums, data_directory, image_sets, inventory, read
from ntkexp.data.images.torchvision import torchvision_datasets
from ntkexp.errors import UserError


@pytest.mark.parametrize("name", ["mnist", "kmnist", "cifar10"])
@pytest.mark.parametrize("layout", ["torchvision", "parquet"])
def test_both_layouts_give_the_images_as_they_were(made_up: Any, name: str, layout: str) -> None:
    if layout == "parquet":
        made_up.parquet(name, train=10)
    elif name == "cifar10":
        made_up.pickles(rows=10)
    else:
        made_up.idx(name, train=10)
    images = read(name, "test", progress=False)
    seed = 5 if (name, layout) == ("cifar10", "torchvision") else 0
    pixels, labels = made_up.images(name, 10, seed)
    expected = pixels.transpose(0, 3, 1, 2) if name == "cifar10" else pixels[:, None]
    np.testing.assert_array_equal(images.pixels, expected)
    assert images.labels.tolist() == labels
    assert all((file.path.suffix == ".parquet") == (layout == "parquet") for file in images.files)
    assert not images.lossy


def test_torchvisions_files_come_before_parquet(made_up: Any) -> None:
    made_up.parquet("mnist")
    made_up.idx("mnist")
    assert read("mnist", "train").files[0].path.suffix != ".parquet"


def test_a_layout_without_one_of_its_files_is_not_taken(made_up: Any) -> None:
    made_up.parquet("mnist")
    (made_up.idx("mnist") / "t10k-labels-idx1-ubyte").unlink()
    assert read("mnist", "train", progress=False).files[0].path.suffix == ".parquet"


def test_cifar_pickles_follow_one_another(made_up: Any) -> None:
    made_up.pickles(rows=10)
    images = read("cifar10", "train")
    assert len(images.files) == 5
    third, _ = made_up.images("cifar10", 10, seed=2)
    np.testing.assert_array_equal(images.pixels[20:30], third.transpose(0, 3, 1, 2))


def test_shards_follow_one_another_and_none_may_be_missing(made_up: Any) -> None:
    path = made_up.parquet("mnist", train=30)
    whole = pd.read_parquet(path)
    shards = [path.with_name(f"train-0000{i}-of-00003.parquet") for i in range(3)]
    for i, shard in enumerate(shards):
        whole.iloc[10 * i : 10 * i + 10].to_parquet(shard)
    path.unlink()
    images = read("mnist", "train", progress=False)
    np.testing.assert_array_equal(images.pixels[:, 0], made_up.images("mnist", 30, 1)[0])
    shards[1].unlink()
    with pytest.raises(UserError, match=r"train-00000-of-00003.*2 such files, not 3"):
        read("mnist", "train")


def test_images_are_decoded_once(made_up: Any, tmp_path: Path) -> None:
    made_up.parquet("mnist")
    first = read("mnist", "train", progress=False)
    (kept,) = (tmp_path / "cache" / "decoded").iterdir()
    assert kept.stem == f"mnist-{first.files[0].sha256}"
    written = kept.stat().st_mtime_ns
    again = read("mnist", "train", progress=False)
    np.testing.assert_array_equal(first.pixels, again.pixels)
    assert kept.stat().st_mtime_ns == written

    kept.write_bytes(kept.read_bytes()[:100])
    mended = read("mnist", "train", progress=False)
    np.testing.assert_array_equal(first.pixels, mended.pixels)
    assert kept.stat().st_size > 100


def test_members_of_one_run_read_once(made_up: Any) -> None:
    made_up.parquet("mnist")
    with sharing():
        images = read("mnist", "train", progress=False)
        assert read("mnist", "train", progress=False) is images
        assert read("mnist", "test", progress=False) is not images
    assert read("mnist", "train", progress=False) is not images


def test_a_cache_that_cannot_be_written_is_done_without(
    made_up: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made_up.parquet("mnist")
    (tmp_path / "file").touch()
    monkeypatch.setenv("NTKEXP_CACHE", str(tmp_path / "file"))
    assert len(read("mnist", "train", progress=False)) == 30
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith("cannot keep the decoded images: cannot write ")


def test_every_file_is_told_of_and_what_is_not_official(made_up: Any) -> None:
    path = made_up.parquet("kmnist", train=30, test=10)
    told = inventory(["kmnist"]).splitlines()
    assert told[1] == "kmnist"
    assert path.name in told[2] and f"{path.stat().st_size:,} bytes" in told[2]
    assert told[4:6] == [
        "  note: kmnist: 30 train images, the official set has 60,000",
        "  note: kmnist: 10 test images, the official set has 10,000",
    ]
    images = read("kmnist", "train", progress=False)
    assert [*checksums(images.files)] == ["kmnist/train-00000-of-00001.parquet"]


def test_an_image_set_is_listed_once_though_other_data_are_made_of_it() -> None:
    names = [kind.name for kind in image_sets().values()]
    assert "mnist" in names and len(set(names)) == len(names)


def break_row(path: Path, row: int, **cells: Any) -> None:
    table = pd.read_parquet(path)
    for column, value in cells.items():
        table.at[row, column] = value
    table.to_parquet(path)


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ({"image": {"bytes": b"no image", "path": None}}, "row 17: image does not decode"),
        ({"image": {"bytes": None, "path": "17.png"}}, "row 17: image does not decode"),
        ({"label": 10}, "row 17: label 10, expected 0 to 9"),
        ({"label": -1}, "row 17: label -1"),
    ],
    ids=["garbage", "external", "label above", "label below"],
)
def test_a_bad_row_is_named(made_up: Any, cells: dict[str, Any], says: str) -> None:
    path = made_up.parquet("mnist")
    break_row(path, 17, **cells)
    with pytest.raises(UserError, match=says) as refusal:
        read("mnist", "train", progress=False)
    assert str(path) in str(refusal.value)


def test_an_image_cut_short_or_of_another_size_is_named(made_up: Any) -> None:
    path = made_up.parquet("mnist")
    whole = pd.read_parquet(path)["image"][3]["bytes"]
    break_row(path, 3, image={"bytes": whole[: len(whole) // 2], "path": None})
    with pytest.raises(UserError, match="row 3: image does not decode"):
        read("mnist", "train", progress=False)
    colour = pd.read_parquet(made_up.parquet("cifar10"))["img"][0]["bytes"]
    break_row(path, 3, image={"bytes": colour, "path": None})
    with pytest.raises(UserError, match="row 3: image is 32x32 RGB, expected 28x28 L"):
        read("mnist", "train", progress=False)


def test_a_torn_parquet_and_foreign_columns_are_named(made_up: Any) -> None:
    path = made_up.parquet("mnist")
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match=r"train-00000.*not a readable parquet file"):
        read("mnist", "train", progress=False)
    pd.DataFrame({"picture": [1], "label": [1]}).to_parquet(path)
    with pytest.raises(UserError, match="columns picture, label, expected label and image or img"):
        read("mnist", "train", progress=False)


def test_torn_or_mislabelled_idx_files_are_named(made_up: Any) -> None:
    folder = made_up.idx("mnist", train=30)
    images, labels = folder / "train-images-idx3-ubyte", folder / "train-labels-idx1-ubyte"
    whole = labels.read_bytes()
    labels.write_bytes(whole[:-3] + bytes([11]) + whole[-2:])
    with pytest.raises(UserError, match="labels-idx1-ubyte, row 27: label 11"):
        read("mnist", "train")
    labels.write_bytes(whole[:-5])
    with pytest.raises(UserError, match=r"labels-idx1-ubyte: .* torn"):
        read("mnist", "train")
    images.write_bytes(images.read_bytes()[: 16 + 784 * 12 + 5])
    with pytest.raises(UserError, match=r"images-idx3-ubyte: .* torn"):
        read("mnist", "train")
    images.write_bytes(b"<html>not found</html>")
    with pytest.raises(UserError, match="images-idx3-ubyte: not an idx file"):
        read("mnist", "train")


class Mischief:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("true",)


def test_torn_or_hostile_pickles_are_named_and_run_nothing(made_up: Any) -> None:
    path = made_up.pickles() / "data_batch_2"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="data_batch_2: not a readable CIFAR-10 batch"):
        read("cifar10", "train")
    path.write_bytes(pickle.dumps({"data": Mischief(), "labels": []}))
    with pytest.raises(UserError, match=r"data_batch_2.*system, which is no array"):
        read("cifar10", "train")
    batch = pickle.loads(whole)
    path.write_bytes(pickle.dumps({**batch, "labels": [*batch["labels"][:-1], 10]}))
    with pytest.raises(UserError, match="data_batch_2, row 9: label 10"):
        read("cifar10", "train")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def mirror(made_up: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder from which torchvision's KMNIST is downloaded, served on this machine."""
    folder: Path = made_up.idx("kmnist").rename(tmp_path / "mirror")
    (made_up.root / "KMNIST").rmdir()
    for path in list(folder.iterdir()):
        path.with_name(f"{path.name}.gz").write_bytes(compress(path.read_bytes()))
        path.unlink()
    kmnist = torchvision_datasets().KMNIST
    monkeypatch.setattr(kmnist, "resources", [(name, None) for name, _ in kmnist.resources])
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        monkeypatch.setattr(kmnist, "mirrors", [f"http://127.0.0.1:{server.server_port}/"])
        threading.Thread(target=server.serve_forever).start()
        yield folder
        server.shutdown()


def test_what_is_not_there_is_downloaded_by_torchvision(made_up: Any, mirror: Path) -> None:
    images = read("kmnist", "train", progress=False)
    np.testing.assert_array_equal(images.pixels[:, 0], made_up.images("kmnist", 30, 1)[0])
    assert [path.name for path in made_up.root.iterdir()] == ["KMNIST"]  # no leftovers
    (mirror / "train-images-idx3-ubyte.gz").unlink()
    assert len(read("kmnist", "train")) == 30  # not asked for again


def test_a_download_that_breaks_off_leaves_nothing_and_names_the_three_ways(
    made_up: Any, mirror: Path
) -> None:
    (mirror / "t10k-labels-idx1-ubyte.gz").write_bytes(b"<html>not now</html>")
    with pytest.raises(UserError) as refusal:
        read("kmnist", "train", progress=False)
    message = str(refusal.value)
    for path in (
        made_up.root / "KMNIST" / "raw" / "train-images-idx3-ubyte",
        made_up.root / "kmnist" / "train-*.parquet",
        made_up.root / "kmnist" / "test-*.parquet",
    ):
        assert str(path) in message
    assert "`ntkexp data kmnist`" in message
    assert "NTKEXP_DATA" in message
    assert list(made_up.root.iterdir()) == []


def test_a_data_directory_that_cannot_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NTKEXP_DATA", str(tmp_path / "file" / "data"))
    with pytest.raises(UserError, match=r"data.name=mnist: no images found under .*file/data"):
        read("mnist", "train")


def test_the_data_directory_is_in_the_users_cache_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("NTKEXP_DATA", "NTKEXP_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_directory() == tmp_path / ".cache" / "ntkexp" / "data"
    monkeypatch.setenv("NTKEXP_DATA", "~/images")
    assert data_directory() == tmp_path / "images"


def test_images_lie_alike_whether_just_decoded_or_kept(made_up: Any) -> None:
    """Convolutions round otherwise on another layout: a second life would not go on alike."""
    made_up.parquet("cifar10")
    config = Cifar10()
    first, again = (load(config, 0, torch.device("cpu"), progress=False) for _ in range(2))
    assert first.train.inputs.stride() == again.train.inputs.stride() == (3072, 1024, 32, 1)
