"""Kernels written tile by tile."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent import tangent_kernel, tangent_kernel_tiles
from tests.tangent.grid.nets import built


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
    model, inputs = built("bilinear")
    gram = tangent_kernel_tiles(
        model, inputs, str(tmp_path / "k.npy"), examples_per_tile=2, progress=False
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
    file, done_tiles = tmp_path / "k.npy", tmp_path / "k.npy.tiles" / "done"
    model.left = 14
    with pytest.raises(KeyboardInterrupt):
        tangent_kernel_tiles(model, inputs, file, examples_per_tile=5, progress=False)
    assert 0 < len([*done_tiles.iterdir()]) < 15
    model.left = 10**9
    gram = tangent_kernel_tiles(model, inputs, file, examples_per_tile=5, progress=False)
    np.testing.assert_allclose(gram, tangent_kernel(plain, inputs).gram.numpy(), rtol=1e-12)
    model.left = 12  # the reference pass, and three examples compared: nothing is left to compute
    again = tangent_kernel_tiles(model, inputs, file, examples_per_tile=5, progress=False)
    np.testing.assert_array_equal(again, gram)


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    model, inputs = mlp()
    file = tmp_path / "k.npy"
    tangent_kernel_tiles(model, inputs, file, progress=False)
    with pytest.raises(UserError, match="something else"):
        tangent_kernel_tiles(model, inputs + 1, file, progress=False)
    with torch.no_grad():
        model[0].bias += 1
    with pytest.raises(UserError, match="something else"):
        tangent_kernel_tiles(model, inputs, file, progress=False)
    other = tmp_path / "notes.npy"
    other.write_text("mine")
    with pytest.raises(UserError, match="no array begun here"):
        tangent_kernel_tiles(model, inputs, other, progress=False)
    assert other.read_text() == "mine"


def test_of_orthogonal_examples_the_diagonal_tells_another_function(tmp_path: Path) -> None:
    model, file = nn.Linear(4, 1, bias=False).double(), tmp_path / "k.npy"
    inputs = torch.eye(4, dtype=torch.float64)
    tiles(model, inputs, file, outputs=lambda f: f)
    with pytest.raises(UserError, match="of another function"):
        tiles(model, inputs, file, outputs=lambda f: 2 * f)


def tiles(model: nn.Module, inputs: Tensor, file: Path, **options: object) -> Tensor:
    found = tangent_kernel_tiles(
        model,
        inputs,
        file,
        progress=False,
        **options,  # type: ignore[arg-type]
    )
    return torch.from_numpy(found.copy())


@pytest.mark.parametrize("finished", [True, False])
def test_another_function_of_the_same_weights_is_refused(finished: bool, tmp_path: Path) -> None:
    """The record knows weights and inputs; other code is seen by three examples' kernel."""
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.1), nn.Linear(8, 2)).double()
    model = Stopping(*plain).double()
    inputs, file = torch.randn(23, 3, dtype=torch.float64), tmp_path / "k.npy"
    if not finished:
        model.left = 14
        with pytest.raises(KeyboardInterrupt):
            tiles(model, inputs, file, examples_per_tile=5, outputs=lambda f: f[:, 0])
        model.left = 10**9
    first = tiles(model, inputs, file, examples_per_tile=5, outputs=lambda f: f[:, 0])
    with pytest.raises(UserError, match="of another function"):
        tiles(model, inputs, file, outputs=lambda f: f[:, 1])
    model[1].negative_slope = 0.9
    with pytest.raises(UserError, match="of another function"):
        tiles(model, inputs, file, outputs=lambda f: f[:, 0])
    model[1].negative_slope = 0.1
    again = tiles(model, inputs, file, outputs=lambda f: f[:, 0])
    assert torch.equal(first, again)
