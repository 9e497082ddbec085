"""Kernels written tile by tile."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from trap_nets import case

from ntkexp.errors import UserError
from ntkexp.tangent import tangent_kernel, tangent_kernel_tiles


def mlp() -> tuple[nn.Module, Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1)).double()
    return model, torch.randn(23, 3, dtype=torch.float64)


@pytest.mark.parametrize("tile", [5, 23, None])
def test_tiles_make_the_kernel(tile: int | None, tmp_path: Path) -> None:
    model, inputs = mlp()
    file = tmp_path / "deep" / "k.npy"
    gram = tangent_kernel_tiles(model, inputs, file, examples_per_tile=tile, progress=False)
    truth = tangent_kernel(model, inputs).gram.numpy()
    np.testing.assert_allclose(gram, truth, rtol=1e-12)
    np.testing.assert_allclose(np.load(file, mmap_mode="r"), truth, rtol=1e-12)


def test_several_outputs_and_a_fallback(tmp_path: Path) -> None:
    model, inputs = case("functional use")
    gram = tangent_kernel_tiles(
        model, inputs, tmp_path / "k.npy", examples_per_tile=2, progress=False
    )
    np.testing.assert_allclose(gram, tangent_kernel(model, inputs).gram.numpy(), rtol=1e-9)


class Stopping(nn.Sequential):
    """Fails after a number of forwards, as a killed process would."""

    left = 10**9

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().forward(x)


def test_a_stopped_kernel_is_taken_up(tmp_path: Path) -> None:
    plain, inputs = mlp()
    model = Stopping(*plain).double()
    file, record = tmp_path / "k.npy", tmp_path / "k.npy.tiles.json"
    model.left = 12
    with pytest.raises(KeyboardInterrupt):
        tangent_kernel_tiles(model, inputs, file, examples_per_tile=5, progress=False)
    done = len(json.loads(record.read_text())["done"])
    assert 0 < done < 15
    model.left = 10**9
    gram = tangent_kernel_tiles(model, inputs, file, examples_per_tile=5, progress=False)
    np.testing.assert_allclose(gram, tangent_kernel(plain, inputs).gram.numpy(), rtol=1e-12)
    model.left = 1  # the rehearsal only: nothing is left to compute
    again = tangent_kernel_tiles(model, inputs, file, examples_per_tile=5, progress=False)
    np.testing.assert_array_equal(again, gram)


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    model, inputs = mlp()
    file = tmp_path / "k.npy"
    tangent_kernel_tiles(model, inputs, file, progress=False)
    with pytest.raises(UserError, match="another model, other inputs"):
        tangent_kernel_tiles(model, inputs + 1, file, progress=False)
    with torch.no_grad():
        model[0].bias += 1
    with pytest.raises(UserError, match="another model, other inputs"):
        tangent_kernel_tiles(model, inputs, file, progress=False)
    other = tmp_path / "notes.npy"
    other.write_text("mine")
    with pytest.raises(UserError, match="no begun kernel"):
        tangent_kernel_tiles(model, inputs, other, progress=False)
    assert other.read_text() == "mine"
