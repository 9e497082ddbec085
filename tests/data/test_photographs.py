"""CelebA and Waterbirds as they are published, in small folders that are made here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from ntkexp import data
from ntkexp.data.celeba import Celeba
from ntkexp.data.dataset import Dataset
from ntkexp.data.spurious import Photographs
from ntkexp.data.waterbirds import Waterbirds
from ntkexp.errors import UserError
from tests.made_photographs import BIRDS, make_celeba, make_waterbirds, rows
from tests.tiny_runs import train

CPU = torch.device("cpu")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NTKEXP_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


MAKERS: dict[type[Photographs], Callable[[Path], Path]] = {
    Celeba: make_celeba,
    Waterbirds: make_waterbirds,
}
KINDS = pytest.mark.parametrize("kind", MAKERS)


def load(options: Photographs, seed: int = 0) -> Dataset:
    return data.load(options, seed=seed, device=CPU, progress=False)


def greys(found: Dataset, split: str) -> list[int]:
    """Which image each is."""
    one = {"train": found.train, "test": found.test}[split]
    levels = one.inputs.mean((2, 3)) * torch.tensor(found.std) + torch.tensor(found.mean)
    return (255 * levels.mean(1) / 5).round().int().tolist()


@KINDS
def test_labels_and_groups_are_those_of_the_lists(root: Path, kind: type[Photographs]) -> None:
    MAKERS[kind](root)
    found = load(kind(size=8))
    told = rows()
    assert sorted(greys(found, "train")) == [n for n, row in enumerate(told) if row[0] == 0]
    for name, split in (("train", found.train), ("test", found.test)):
        own = [told[number] for number in greys(found, name)]
        assert {row[0] for row in own} == {0 if name == "train" else 2}
        assert split.targets.tolist() == [label for _, label, _ in own]
        for group, mask in (("with", True), ("without", False)):
            members = [own[place] for place in split.groups[group].nonzero()[:, 0].tolist()]
            agree = [(a == y) if kind is Waterbirds else bool(a) for _, y, a in members]
            assert agree == [mask] * len(members) and members
            assert 2 * sum(label for _, label, _ in members) == len(members)


@KINDS
def test_the_test_set_is_balanced_and_what_lacks_is_told(
    root: Path, kind: type[Photographs]
) -> None:
    MAKERS[kind](root)
    found = load(kind(size=8, balanced=2))
    pairs = {name: int(mask.sum()) for name, mask in found.test.groups.items()}
    assert pairs["positive_with"] == pairs["negative_with"] == 2
    assert pairs["positive_without"] == pairs["negative_without"] == 1
    assert len(found.test) == 6
    assert "test: 1 images of a label without the attribute to evaluate on, 2 were asked for" in (
        found.remarks
    )
    assert any("12 train images, the official set has" in note for note in found.remarks)


@KINDS
def test_the_middle_square_is_scaled_to_the_size(root: Path, kind: type[Photographs]) -> None:
    MAKERS[kind](root)
    for size in (8, 16):
        found = load(kind(size=size))
        assert found.train.inputs.shape[1:] == (3, size, size)
        spread = found.train.inputs.amax((2, 3)) - found.train.inputs.amin((2, 3))
        assert float(spread.max()) < 0.1  # nothing is left of the margins


def test_other_layouts_of_an_archive(root: Path) -> None:
    make_celeba(root, "img_align_celeba/img_align_celeba")
    make_waterbirds(root, f"waterbirds/{BIRDS}")
    assert len(load(Celeba(size=8)).train) == len(load(Waterbirds(size=8)).train) == 12


@KINDS
def test_fewer_images_and_another_seed(root: Path, kind: type[Photographs]) -> None:
    MAKERS[kind](root)
    first, again, other = (load(kind(size=8, train_examples=11), s) for s in (0, 0, 1))
    assert torch.equal(first.train.inputs, again.train.inputs)
    assert not torch.equal(first.train.inputs, other.train.inputs)
    assert dict(kind().files()) == first.checksums
    with pytest.raises(UserError, match=r"data\.train_examples=13: there are 12"):
        load(kind(size=8, train_examples=13))


@KINDS
def test_files_that_are_not_there(root: Path, kind: type[Photographs]) -> None:
    assert kind().files() == {}
    with pytest.raises(UserError, match=rf"data={kind().name}: no folder .* under .*NTKEXP_DATA"):
        load(kind())
    folder = MAKERS[kind](root)
    sorted(folder.rglob("*.jpg"))[0].with_name("x").touch()
    first = sorted((root).rglob("*.txt")) + sorted(root.rglob("*.csv"))
    first[0].unlink()
    with pytest.raises(UserError, match=f"has no file {first[0].name}$"):
        load(kind())


@KINDS
@pytest.mark.parametrize("content", [b"", b"no image", b"\xff\xd8\xff\xe0" + 20 * b"x"])
def test_a_damaged_image_is_named(root: Path, kind: type[Photographs], content: bytes) -> None:
    image = _some_training_image(MAKERS[kind](root), kind)
    image.write_bytes(content)
    with pytest.raises(UserError, match=rf"{image.name}: cannot be decoded as an image"):
        load(kind(size=8))
    image.unlink()
    with pytest.raises(UserError, match=rf"{image.name}: cannot be read"):
        load(kind(size=8))


def _some_training_image(folder: Path, kind: type[Photographs]) -> Path:
    number = next(n for n, row in enumerate(rows()) if row[0] == 0 and n > 0)
    name = f"{number + 1:06d}.jpg" if kind is Celeba else f"Bird_{number:04d}.jpg"
    return next(folder.rglob(name))


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("list_attr_celeba.txt", "Blond_Hair", "Blond", r"no column Blond_Hair; it has "),
        ("list_attr_celeba.txt", "1\n000002", "0\n000002", r"Male of image 000001\.jpg is -?0"),
        ("list_eval_partition.txt", "000003.jpg", "000009.jpg", "same images in both"),
        ("list_eval_partition.txt", "000002.jpg ", "000002.jpg 7", r"split of image 000002\.jpg"),
    ],
)
def test_lists_of_celeba_that_disagree(
    root: Path, file: str, old: str, new: str, says: str
) -> None:
    _change(make_celeba(root) / file, old, new, says, Celeba())


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("place,", "places,", r"no column place; it has img_id, "),
        (
            "Bird_0001.jpg,",
            "Bird_0001.jpg,2",
            r"y of image .*Bird_0001\.jpg is 2[01]; expected 0 or",
        ),
    ],
)
def test_metadata_of_waterbirds_that_makes_no_sense(
    root: Path, old: str, new: str, says: str
) -> None:
    _change(make_waterbirds(root) / "metadata.csv", old, new, says, Waterbirds())


def _change(path: Path, old: str, new: str, says: str, options: Photographs) -> None:
    content = path.read_text()
    assert old in content
    path.write_text(content.replace(old, new, 1))
    with pytest.raises(UserError, match=says):
        load(options)


def test_lists_that_are_no_text(root: Path) -> None:
    (make_waterbirds(root) / "metadata.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"metadata\.csv: no list of images"):
        load(Waterbirds())


def test_a_network_is_trained_on_them(root: Path, tmp_path: Path) -> None:
    make_waterbirds(root)
    words = ("data=waterbirds", "data.size=8", "model=resnet18", "model.base=2", "optim.steps=2",
             "probing.examples=4", "probe=[]", "evaluate.subsets=[with,without]",
             "data.train_examples=null", "progress=false")  # fmt: skip
    assert (train(tmp_path / "outputs", *words) / "evals.parquet").is_file()
