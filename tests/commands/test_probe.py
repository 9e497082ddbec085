"""`ntkexp probe`: networks and checkpoints of other code, in the tables of a training run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap

from ntkexp.cli import main
from ntkexp.results import Record, read
from ntkexp.theory.alignment import centre

CLASSES, EXAMPLES = 4, 12
LOGIT = ("--model", "foreign_code:Logit", "--checkpoints", "logit-step=0.pt")
STEPS = (0, 5, 30)
CODE = """
import torch
from torch import nn

def Net():
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.BatchNorm1d(8), nn.Linear(8, 4))

class Says(dict):
    pass

class HuggingFace(nn.Sequential):
    def __init__(self):
        super().__init__(*Net())
    def forward(self, x):
        return Says(loss=None, logits=super().forward(x))

def load():
    g = torch.Generator().manual_seed(0)
    x, noisy = torch.randn(60, 6, generator=g), torch.arange(40) % 4 == 1
    y = (x @ torch.randn(6, 4, generator=g)).argmax(1)
    given = torch.where(noisy, (y[:40] + 1) % 4, y[:40])
    return {"train": (x[:40], given), "test": (x[40:], y[40:]), "noisy": noisy, "clean": y[:40]}

def from_one():
    (x, y), test = load()["train"], load()["test"]
    return {"train": (x, y + 1), "test": test}

def one_hot():
    return {name: (x, nn.functional.one_hot(y)) for name, (x, y) in pairs().items()}

def floats():
    return {name: (x, y.float()) for name, (x, y) in pairs().items()}

class Dict(nn.Sequential):
    def __init__(self):
        super().__init__(*Net())
    def forward(self, x):
        return {"out": super().forward(x)}

def Logit():
    return nn.Linear(6, 1)

def of_signs():
    return {name: (x, 2 * (y > 1).long() - 1) for name, (x, y) in pairs().items()}

def of_two():
    return {name: (x, (y > 1).long()) for name, (x, y) in pairs().items()}

def loaders():
    return {name: {"x": x} for name, (x, y) in pairs().items()}

def pairs():
    return {name: load()[name] for name in ("train", "test")}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Code of one's own, and checkpoints of its training as a wrapper names their weights."""
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "foreign_code.py").write_text(CODE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "path", [str(folder), *sys.path])
        import foreign_code  # type: ignore[import-not-found]

        torch.save(foreign_code.Logit().state_dict(), "logit-step=0.pt")
        torch.manual_seed(0)
        network, (x, y) = foreign_code.Net(), foreign_code.load()["train"]
        optimiser = torch.optim.SGD(network.parameters(), 0.1)
        for step in range(max(STEPS) + 1):
            if step in STEPS:
                weights = {f"module.{name}": w for name, w in network.state_dict().items()}
                torch.save({"state_dict": weights}, f"epoch=0-step={step}.ckpt")
            optimiser.zero_grad()
            nn.functional.cross_entropy(network(x), y).backward()
            optimiser.step()
        yield folder


def probed(name: str, *words: str, model: str = "Net") -> Record:
    code = main(["probe", "--model", f"foreign_code:{model}", "--checkpoints", "*.ckpt", "--data",
                 "foreign_code:load", "--name", name, "--examples", str(EXAMPLES), *words,
                 "progress=false", "device=cpu"])  # fmt: skip
    assert code == 0
    (run,) = Path("outputs", name).iterdir()
    return read(run)


def jacobian(step: int, x: Tensor) -> Tensor:
    """(n, c, weights) in float64, by torch.func."""
    import foreign_code

    network = foreign_code.Net().double().eval()
    kept = torch.load(f"epoch=0-step={step}.ckpt", weights_only=True)["state_dict"]
    network.load_state_dict({name.removeprefix("module."): w for name, w in kept.items()})
    weights = {name: w.detach() for name, w in network.named_parameters()}
    buffers = dict(network.named_buffers())

    def outputs(weights: dict[str, Tensor], x: Tensor) -> Tensor:
        return functional_call(network, (weights, buffers), (x[None],))[0]

    rows = vmap(jacrev(outputs), (None, 0))(weights, x.double())
    return torch.cat([part.flatten(2) for part in rows.values()], 2)


def first_examples() -> tuple[Tensor, Tensor]:
    import foreign_code

    x, y = foreign_code.load()["train"]
    return x[:EXAMPLES], y[:EXAMPLES]


def chosen(table: pd.DataFrame, step: int, centring: str = "class") -> pd.DataFrame:
    return table[(table["split"] == "train") & (table["layer"] == "total")
                 & (table["centring"] == centring) & (table["step"] == step)]  # fmt: skip


def by_definition(K: np.ndarray, Y: np.ndarray) -> float:
    """CKA of kernels over n examples, from its definition."""
    H = np.eye(len(K)) - 1 / len(K)
    K, L = H @ K @ H, H @ Y @ Y.T @ H
    return float((K * L).sum() / np.linalg.norm(K) / np.linalg.norm(L))


def test_the_tables_are_those_of_a_run_and_their_numbers_autograds(folder: Path) -> None:
    run = probed("whole")
    evals = run.tables["evals"]
    assert sorted({*evals["step"]}) == sorted(STEPS)
    assert {*evals["subset"]} == {"all"}
    x, y = first_examples()
    for step in STEPS:
        J = jacobian(step, x).flatten(0, 1)
        K = centre((J @ J.T).numpy(), CLASSES)
        kept = chosen(run.tables["spectrum"], step).sort_values("rank")["eigenvalue"]
        np.testing.assert_allclose(
            kept, np.linalg.eigvalsh(K)[::-1], rtol=1e-4, atol=1e-5 * float(kept.iloc[0])
        )
        Y = torch.nn.functional.one_hot(y, CLASSES).double().numpy()
        Y = (Y - Y.mean(0)).ravel()
        expected = Y @ K @ Y / np.linalg.norm(K) / (Y @ Y)
        assert chosen(run.tables["alignment"], step)["cka"].item() == pytest.approx(
            expected, rel=1e-4
        )
    # Some labels are wrong, and the clean ones are known.
    assert len(chosen(run.tables["alignment"], 0, "clean")) == 1


@pytest.mark.parametrize("outputs", ["trace", "label", "2"])
def test_networks_of_many_classes_are_looked_at_by_fewer_outputs(
    folder: Path, outputs: str
) -> None:
    run = probed(f"outputs_{outputs}", "--outputs", outputs)
    x, y = first_examples()
    J = jacobian(30, x)
    one_hot = torch.nn.functional.one_hot(y, CLASSES).double().numpy()
    kept = chosen(run.tables["spectrum"], 30).sort_values("rank")["eigenvalue"].to_numpy()
    cka = chosen(run.tables["alignment"], 30)["cka"].item()
    if outputs == "2":
        assert len(kept) == 2 * EXAMPLES
    else:
        K = torch.einsum("icp,jcp->ij", J, J).numpy()
        if outputs == "label":
            own = J[torch.arange(EXAMPLES), y]
            K = (own @ own.T).numpy()
        assert cka == pytest.approx(by_definition(K, one_hot), rel=1e-4)
        expected = np.linalg.eigvalsh(centre(K, 1))[::-1]
        np.testing.assert_allclose(kept, expected, rtol=1e-4, atol=1e-5 * kept[0])
    examples, told = run.life["remarks"]
    assert examples == (
        f"kernels of the first {EXAMPLES} examples of each split, batch norms by their running "
        "statistics"
    )
    assert told.startswith("kernels of ")


def test_splits_of_fewer_than_100_examples_are_looked_at_whole(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = (
        "--model",
        "foreign_code:Net",
        "--checkpoints",
        "*.ckpt",
        "--data",
        "foreign_code:load",
    )
    assert main(["probe", *words, "--name", "whole_splits", "progress=false", "device=cpu"]) == 0
    (run,) = map(read, Path("outputs/whole_splits").iterdir())
    ranks = run.tables["spectrum"].groupby("split")["rank"].max()
    assert ranks.to_dict() == {"train": 40 * CLASSES, "test": 20 * CLASSES}
    assert run.life["remarks"][0].startswith("kernels of the first 20 test and 40 train examples")
    assert "there are 20 test examples; all are looked at" in capsys.readouterr().err


def test_a_network_may_return_more_than_a_tensor(folder: Path) -> None:
    plain, more = probed("whole"), probed("hugging_face", model="HuggingFace")
    pd.testing.assert_frame_equal(plain.tables["evals"], more.tables["evals"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--model", "foreign_code:Ne"], "foreign_code"),
        (["--model", "foreign_code:load"], "gives a dict; expected a Module"),
        (["--data", "foreign_code:Net"], "gives Sequential; expected a dict with train and test"),
        (["--data", "foreign_code:from_one"], "labels go from 1 to 4; the network has 4 outputs"),
        (["--data", "foreign_code:one_hot"], "expected a class for each example"),
        (
            [*LOGIT, "--data", "foreign_code:of_signs"],
            "labels go from -1 to 1; the network has 1 output, expected 0 to 1, or floats",
        ),
        (["--data", "foreign_code:floats"], "for labels of float32; expected whole numbers"),
        (["--model", "foreign_code:Dict"], "ntkexp: the network gives a dict; expected a tensor"),
        (["--data", "foreign_code:loaders"], "expected (x, y), two tensors, got a dict"),
        (["--data", "nowhere"], "expected MODULE:FUNCTION, an .npz file"),
        (["--examples", "50"], "probing.examples=50: there are 20 test examples"),
        (["--data", "nowhere.npz"], "--data nowhere.npz: no such .npz file and no such folder"),
        (["--checkpoints", "none.ckpt"], "none.ckpt: no such file"),
        (["--checkpoints", "."], "no pytorch_model.bin; './*.ckpt' are its files"),
        (["--outputs", "some"], "all, label, trace or how many"),
        (
            [*LOGIT, "--data", "foreign_code:of_two", "--outputs", "label"],
            "study.outputs=label: the network gives 1 outputs for labels of int64",
        ),
        (["probe=[kernel_regression]"], "probe.kernel_regression: looks at training"),
        (["--steps", "1,2"], "name the files one by one"),
        (["--objective", "squared"], "no such objective"),
        (["probing.exampels=3"], "exampels"),
        (["--nonsense"], "no such flag"),
    ],
)
def test_bad_input_is_told_in_one_line(
    folder: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    usual = {"--model": "foreign_code:Net", "--data": "foreign_code:load", "--name": "bad",
             "--checkpoints": "*.ckpt", "--examples": "12"}  # fmt: skip
    given = [word for flag, value in usual.items() if flag not in words for word in (flag, value)]
    assert main(["probe", *given, *words, "progress=false", "device=cpu"]) == 2
    assert told in capsys.readouterr().err
    assert not Path("outputs", "bad").exists()


def test_an_error_in_ones_own_network_is_shown_without_the_frames_of_hydra(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "misspelt.py").write_text("def Net():\n    return Nett(3)\n")
    words = ["--model", "misspelt:Net", "--data", "foreign_code:load", "--checkpoints", "*.ckpt"]
    assert main(["probe", *words, "--name", "bad"]) == 1
    told = capsys.readouterr().err
    assert told.splitlines()[-1] == "NameError: name 'Nett' is not defined"
    assert "return Nett(3)" in told
    assert "hydra" not in told.lower()
    assert not Path("outputs", "bad").exists()


@pytest.mark.usefixtures("folder")
def test_the_command_that_draws_looks_where_the_results_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = main(["probe", "--model", "foreign_code:Net", "--checkpoints", "epoch=0-step=0.ckpt",
                 "--data", "foreign_code:load", "--name", "far", "--examples", "4",
                 "paths.outputs=elsewhere", "progress=false"])  # fmt: skip
    assert code == 0
    assert "ntkexp figures alignment 2 3 --runs elsewhere --exp far" in capsys.readouterr().out
