"""The cache of decoded images is told of, and forgotten on request."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ntkexp.commands.data import Data
from ntkexp.data.images.files import cache_directory, decoded_once, kept_files
from ntkexp.data.images.sources import inventory
from ntkexp.errors import UserError


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with two decoded files of mnist and one of cifar10, and one half written."""
    monkeypatch.setenv("NTKEXP_CACHE", str(tmp_path / "cache"))
    pixels, labels = np.zeros((2, 1, 3, 3), np.uint8), np.zeros(2, np.int64)
    for kind, sha256 in (("mnist", "00"), ("mnist", "11"), ("cifar10", "22")):
        decoded_once(kind, sha256, lambda: (pixels, labels, False))
    (cache_directory() / "decoded" / ".half.npz").write_bytes(b"x")
    (cache_directory() / "data").mkdir()
    return cache_directory()


def names(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "decoded").iterdir())


def test_forgetting_one_dataset_leaves_the_others(cache: Path) -> None:
    assert "forgot 2 decoded files" in inventory(["mnist"], forget=True)
    assert names(cache) == [".half.npz", "cifar10-22.npz"]


def test_forgetting_all_leaves_what_somebody_writes_and_the_images(cache: Path) -> None:
    total = sum(path.stat().st_size for path in (cache / "decoded").glob("[!.]*.npz"))
    assert sum(kept.stat().st_size for kept in kept_files()) == total
    assert f"forgot 3 decoded files, {total / 1e6:.1f} MB" in inventory(forget=True)
    assert names(cache) == [".half.npz"]
    assert (cache / "data").is_dir()
    assert "forgot 0 decoded files" in inventory(forget=True)


def test_a_flag_that_is_none_is_refused(cache: Path) -> None:
    with pytest.raises(UserError, match="data: unrecognized arguments: --forgt"):
        Data.parsed(["--forgt"])
    assert len(names(cache)) == 4


@pytest.mark.usefixtures("made_images")
def test_the_inventory_tells_the_size_of_the_cache() -> None:
    told = inventory(["mnist"]).splitlines()[-1]
    assert told.startswith(f"cache: {len(kept_files())} decoded files")
    assert str(cache_directory()) in told


def test_without_names_nothing_is_fetched(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who only asks for the size of the cache needs no network."""
    monkeypatch.setenv("NTKEXP_DATA", str(cache / "nowhere"))
    told = inventory().splitlines()
    assert "mnist: not here; ntkexp data mnist fetches it" in told
    assert told[-1].startswith("cache: 3 decoded files")
    assert not (cache / "nowhere").exists()


@pytest.mark.usefixtures("made_images")
def test_without_names_what_is_here_is_read() -> None:
    assert "\nmnist\n  train" in inventory()
