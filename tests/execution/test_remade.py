"""Network, data and kernel of a finished run, made again from what it keeps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import ntkexp
from ntkexp.errors import UserError
from ntkexp.results import Record
from tests.tiny_runs import TINY

WORDS = ("model.depth=2", "model.width=8", "data.noise=0.5",
         "optim.steps=12", "keep.weights=[4]", "probing.spacing=list",
         "probing.steps=[0,4,12]")  # fmt: skip


@pytest.fixture(scope="module")
def outputs(module_images: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("remade")


def made(outputs: Path, *words: str) -> Record:
    return ntkexp.run("mlp_mnist", [*TINY, *words], runs=outputs)


@pytest.fixture(scope="module")
def run(outputs: Path) -> Record:
    return made(outputs, *WORDS)


@pytest.mark.parametrize("words", [(), ("transform=alpha_scale", "transform.alpha=10")])
def test_the_network_gives_the_numbers_of_the_run(outputs: Path, words: tuple[str, ...]) -> None:
    run = made(outputs, *WORDS, *words)
    network, data = run.network(), run.data()
    evals = run.tables["evals"]
    for split, examples in (("train", data.train), ("test", data.test)):
        with torch.no_grad():
            right = network(examples.inputs).argmax(1) == examples.targets
        last = evals[(evals["split"] == split) & (evals["subset"] == "all")].iloc[-1]
        assert right.double().mean().item() == last["accuracy"]
    assert not network.training
    assert bool(data.train.corrupted.any())


@pytest.mark.parametrize("step", [None, 4])
def test_the_kernel_has_the_spectrum_of_the_run(run: Record, step: int | None) -> None:
    kernel = run.kernel("test", step).gram.double()
    batch = run.batch("test")
    assert len(kernel) == 10 * len(batch.inputs)
    # Centred by class: the mean of each output's rows and columns is taken off.
    blocks = kernel.view(len(batch.inputs), 10, len(batch.inputs), 10)
    blocks = blocks - blocks.mean(0, keepdim=True)
    blocks = blocks - blocks.mean(2, keepdim=True)
    mine = torch.linalg.eigvalsh(blocks.reshape(kernel.shape)).flip(0)
    rows = run.tables["spectrum"]
    rows = rows[(rows["split"] == "test") & (rows["step"] == (12 if step is None else step))]
    kept = rows[rows["centring"] == "class"].sort_values("rank")["eigenvalue"].to_numpy()
    np.testing.assert_allclose(mine[: len(kept)], kept, rtol=1e-4, atol=1e-5 * kept[0])


def test_what_a_run_does_not_have_is_refused(run: Record, outputs: Path) -> None:
    with pytest.raises(
        UserError, match=r"no file weights\.7\.pt; it has .*weights\.4\.pt.*; keep\.weights"
    ):
        run.network(7)
    with pytest.raises(UserError, match="no batch easy: the run's probes look at train, test"):
        run.batch("easy")
    many = made(outputs, *WORDS, "members={seed: [0,1]}")
    with pytest.raises(UserError, match="trains many networks"):
        many.network()
    other = dict(run.life["data"]) | {next(iter(run.checksums)): "0"}
    with pytest.raises(UserError, match="was made with another"):
        replace(run, life={**run.life, "data": other}).data()


def test_code_that_a_run_names_is_imported_only_for_who_trusts_it(
    outputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "strange_net.py").write_text(
        "from dataclasses import dataclass\n"
        "from pathlib import Path\n"
        "from torch import nn\n"
        "from ntkexp.models.base import Model\n"
        "@dataclass\n"
        "class Net(Model):\n"
        "    def build(self, inputs, outputs):\n"
        "        return nn.Sequential(nn.Flatten(), nn.Linear(784, outputs))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    run = ntkexp.run(
        overrides=[*TINY, "data=mnist", "model=strange_net.Net", "optim.steps=2", "name=strange"],
        runs=outputs,
    )
    with pytest.raises(UserError, match=r"model=strange_net\.Net: is not of ntkexp; trust=True"):
        run.network()
    assert len(run.network(trust=True)) == 2
