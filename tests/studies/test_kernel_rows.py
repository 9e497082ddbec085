"""A kernel in blocks of rows is the kernel; what is not there or not as it was is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import ntkexp.results
from ntkexp import models
from ntkexp.data.mnist import Mnist
from ntkexp.errors import UserError
from ntkexp.models.base import Init
from ntkexp.models.mlp import Mlp
from ntkexp.references import StartFrom
from ntkexp.studies import kernel_rows
from ntkexp.studies.kernel_rows import Block, KernelRows
from ntkexp.tangent import leading_eigenpairs, ridge_regression, tangent_kernel
from ntkexp.tangent.row_blocks import RowBlocks
from tests.forked import Forked
from tests.tangent.dense_jacobian import distance, jacobian, layer_kernels
from tests.tiny_runs import table, train

pytestmark = pytest.mark.usefixtures("module_images")

N, M, ROWS = 50, 12, 20
WORDS = (
    "study=kernel_rows", "+data@study.data=mnist", "+model@study.network=mlp", "name=k",
    "study.network.depth=2", "study.network.width=8", "study.network.init=lecun",
    "study.network_outputs=1", f"study.data.train_examples={N}", f"study.data.test_examples={M}",
    f"study.rows={ROWS}", "progress=false", "device=cpu",
)  # fmt: skip
SMALL = Mlp(depth=2, width=8, init=Init.lecun)


def network(outputs: int = 1, seed: int = 0) -> nn.Module:
    return models.build(SMALL, (1, 28, 28), outputs, seed).double().eval()


def images() -> tuple[Tensor, Tensor]:
    """The training and test images, in float64."""
    data = Mnist(train_examples=N, test_examples=M).build(0, torch.device("cpu"), progress=False)
    return data.train.inputs.double(), data.test.inputs.double()


def run(outputs: Path, *words: str) -> Path:
    return train(outputs, *WORDS, *words, command="study")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, module_images: None) -> Path:
    folder = tmp_path_factory.mktemp("blocks")
    for block in range(3):
        run(folder, f"study.block={block}")
    return folder


def summed(model: nn.Module, left: Tensor, right: Tensor, outputs: int) -> Tensor:
    """The sum over outputs of the naive kernel."""
    both = jacobian(model, left), jacobian(model, right)
    whole = sum(layer_kernels(*both).values())
    assert isinstance(whole, Tensor)
    four = whole.view(len(left), outputs, len(right), outputs)
    return torch.einsum("icjc->ij", four)


@pytest.mark.parametrize(("output", "chosen"), [("sum", slice(None)), ("2", slice(2, 3))])
def test_blocks_in_float64_are_those_of_the_naive_jacobian(output: str, chosen: slice) -> None:
    model = nn.Sequential(nn.Flatten(), nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    drawn = torch.Generator().manual_seed(0)
    x, z = (torch.randn(n, 2, 3, generator=drawn, dtype=torch.float64) for n in (11, 4))
    of_chosen = nn.Sequential(model, Columns(chosen))
    outputs = 3 if output == "sum" else 1
    for columns in (None, z):
        studies = [
            KernelRows(network=SMALL, output=output, rows=4, block=block) for block in range(3)
        ]
        blocks = [Block(study, model, x, columns, outputs=3) for study in studies]
        found = [(block.part, block.computed()) for block in blocks]
        kernel = RowBlocks(found, symmetric=columns is None)
        truth = summed(of_chosen, x, x if columns is None else z, outputs)
        identity = torch.eye(truth.shape[1], dtype=torch.float64)
        assert distance(kernel @ identity, truth) < 1e-12
        assert distance(kernel.rows([3, 10, 0]), truth[[3, 10, 0]]) < 1e-12


class Columns(nn.Module):
    def __init__(self, chosen: slice) -> None:
        super().__init__()
        self.chosen = chosen

    def forward(self, x: Tensor) -> Tensor:
        return x[:, self.chosen]


def test_the_reader_has_products_eigenpairs_and_ridge_regression(kept: Path) -> None:
    kernel = ntkexp.results.kernel(kept / "k")
    truth = tangent_kernel(network(), images()[0], layers=False).gram
    assert kernel.shape == (N, N) and kernel.dtype == torch.float32
    x = torch.randn(N, 3, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close((kernel @ x).double(), truth @ x.double(), rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(kernel.rows([49, 0, 20]).double(), truth[[49, 0, 20]], rtol=1e-5,
                               atol=1e-5)  # fmt: skip
    pairs = leading_eigenpairs(kernel, 5)
    torch.testing.assert_close(pairs.values, torch.linalg.eigvalsh(truth).flip(0)[:5], rtol=1e-5,
                               atol=0)  # fmt: skip
    y = torch.randn(N, 2, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    penalty = float(truth.trace()) / N
    found = ridge_regression(kernel, y, penalty)
    expected = torch.linalg.solve(truth + penalty * torch.eye(N, dtype=torch.float64), y)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4 * float(expected.abs().max()))


def test_rows_against_a_second_set_predict(kept: Path, tmp_path: Path) -> None:
    run(tmp_path, "study.split=test", "study.against=train")
    cross = ntkexp.results.kernel(tmp_path)
    train, test = images()
    truth = tangent_kernel(network(), test, train, layers=False).gram
    a = torch.randn(N, generator=torch.Generator().manual_seed(1))
    assert cross.shape == (M, N)
    torch.testing.assert_close((cross @ a).double(), truth @ a.double(), rtol=1e-4, atol=1e-3)


def copied(kept: Path, tmp_path: Path) -> dict[int, Path]:
    """The blocks, copied to tmp_path, by their numbers."""
    for source in (kept / "k").iterdir():
        target = tmp_path / "k" / source.name
        target.mkdir(parents=True)
        for file in source.iterdir():
            (target / file.name).write_bytes(file.read_bytes())
    runs = (tmp_path / "k").iterdir()
    return {int(table(run, "kernel_rows")["block"][0]): run for run in runs}


def refused(folder: Path, line: str) -> None:
    with pytest.raises(UserError, match=line) as caught:
        ntkexp.results.kernel(folder)
    assert "\n" not in str(caught.value)


def test_a_block_that_is_missing_is_named(kept: Path, tmp_path: Path) -> None:
    blocks = copied(kept, tmp_path)
    (blocks[1] / "status.json").unlink()
    refused(tmp_path, r"1 of 3 blocks are missing, 1; .*'study.block=range\(0,3\)' makes them")
    for block in (0, 2):
        (blocks[block] / "status.json").unlink()
    refused(tmp_path, "no finished run of study=kernel_rows")


@pytest.mark.parametrize("file", ["rows.npy", "kernel_rows.parquet"])
def test_a_block_that_is_damaged_is_named(file: str, kept: Path, tmp_path: Path) -> None:
    blocks = copied(kept, tmp_path)
    with (blocks[2] / file).open("r+b") as opened:
        opened.seek(200)
        byte = opened.read(1)
        opened.seek(200)
        opened.write(bytes([byte[0] ^ 1]))
    refused(tmp_path, rf"^block 2: .*{file} is damaged .*--rerun makes it again")
    (blocks[2] / file).unlink()
    refused(tmp_path, rf"^block 2: .*{file}")


def test_a_block_of_other_weights_or_inputs_is_named(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one config: drawn otherwise, as another version of PyTorch may, or of other images."""
    build, images_of = models.build, kernel_rows.examples
    for word, module, name, other in (
        ("weights", models, "build", lambda *given: build(*given[:3], 1)),
        ("inputs", kernel_rows, "examples", lambda *given: images_of(*given).flip(0)),
    ):
        folder = tmp_path / word
        for block, source in copied(kept, folder).items():
            if block == 1:
                for file in source.iterdir():
                    file.unlink()
        with monkeypatch.context() as patch:
            patch.setattr(module, name, other)
            run(folder, "study.block=1")
        refused(folder, rf"^block 1: .* is of other {word} than block 0, ")


def test_blocks_of_two_kernels_are_told_apart(kept: Path, tmp_path: Path) -> None:
    copied(kept, tmp_path)
    run(tmp_path, "study.seed=1")
    refused(tmp_path, "blocks of several kernels, which differ in study.seed; name= gives")


def test_the_whole_kernel_of_several_outputs_is_refused_with_its_size(tmp_path: Path) -> None:
    line = r"^study.output=null: the network has 10 outputs, and the whole kernel takes 0.0009313 "
    with pytest.raises(UserError, match=line + "GiB; expected sum, or one from 0 to 9"):
        run(tmp_path, "study.network_outputs=null")
    with pytest.raises(UserError, match=r"study\.output=10: the network has 10 outputs"):
        run(tmp_path, "study.network_outputs=null", "study.output='10'")
    assert not [*tmp_path.rglob("status.json")]


def test_a_block_beyond_the_last_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"block=3: 50 rows in blocks of 20; expected 0 to 2"):
        run(tmp_path, "study.block=3")


def test_weights_are_those_of_a_file(tmp_path: Path) -> None:
    torch.save(network(seed=4).float().state_dict(), tmp_path / "w.pt")
    own = run(tmp_path, f"study.weights_file={tmp_path / 'w.pt'}", "study.rows=50")
    truth = tangent_kernel(network(seed=4), images()[0], layers=False).gram
    assert distance(torch.from_numpy(np.load(own / "rows.npy")).double(), truth) < 1e-5
    with pytest.raises(UserError, match=r"study\.weights_file=none\.pt: no such file"):
        KernelRows(network=SMALL, weights_file="none.pt").check()
    with pytest.raises(UserError, match="not both"):
        KernelRows(network=SMALL, weights_file="w.pt", weights=StartFrom(run="disk")).check()


def test_a_sweep_of_this_machine_makes_the_blocks(tmp_path: Path) -> None:
    words = ["study", "-m", *WORDS, "study.block=range(0,3)", "launcher.jobs=2"]
    done = Forked(words, tmp_path).done()
    assert done.returncode == 0, done.stderr
    kernel = ntkexp.results.kernel(tmp_path / "outputs" / "k")
    truth = tangent_kernel(network(), images()[0], layers=False).gram
    assert distance((kernel @ torch.eye(N)).double(), truth) < 1e-5
