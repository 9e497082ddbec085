"""A disk that fills up under a kernel in tiles: one line, nothing lost; with room it goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.results.arrays import TiledArray
from ntkexp.tangent import tangent_kernel, tangent_kernel_tiles
from tests.conftest import SmallDisk


class Watched(TiledArray):
    """Remembers which tiles were put, and are safely there."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.kept: list[tuple[int, int]] = []

    def put(self, tile: tuple[int, int], block: npt.NDArray[np.generic]) -> None:
        super().put(tile, block)
        self.kept.append(tile)


def net() -> tuple[nn.Module, Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2)).double()
    return model, torch.randn(40, 3, dtype=torch.float64)


# The array has 51 kB. What is full first: the room for the tiles' records, a page each, or the
# places for their names.
@pytest.mark.parametrize("options", ["size=96k", "size=64m,nr_inodes=24"])
def test_finished_tiles_stay_and_the_others_follow(options: str, small_disk: SmallDisk) -> None:
    model, inputs = net()
    truth = tangent_kernel(model, inputs).gram.numpy()
    first = Watched(small_disk(options) / "k.npy")
    with pytest.raises(UserError, match=r"^cannot write .*k\.npy.*: No space left") as caught:
        tangent_kernel_tiles(model, inputs, first, examples_per_tile=5, progress=False)
    assert "\n" not in str(caught.value)
    assert 3 < len(first.kept) < 36

    small_disk("size=64m,nr_inodes=1000")
    second = Watched(first.path)
    found = tangent_kernel_tiles(model, inputs, second, progress=False)
    np.testing.assert_allclose(found, truth, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(np.load(first.path), found)
    assert len(second.kept) == 36 - len(first.kept)
    assert not {*first.kept} & {*second.kept}


def test_without_room_for_the_whole_nothing_is_begun(small_disk: SmallDisk) -> None:
    model, inputs = net()
    disk = small_disk("size=40k")
    with pytest.raises(UserError, match=r"^cannot write .*k\.npy: No space left"):
        tangent_kernel_tiles(model, inputs, disk / "k.npy", progress=False)
    assert [*disk.iterdir()] == []
