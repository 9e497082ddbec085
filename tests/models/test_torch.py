"""Any network by the name of what makes it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

import ntkexp
from ntkexp.errors import UserError
from ntkexp.models import build
from ntkexp.models.base import Init
from ntkexp.models.torch import Torch
from ntkexp.models.weights import initialise
from tests.optim.made_networks import wide
from tests.tiny_runs import TINY, composed, train

HOME = "tests.optim.made_networks"
WORDS = (
    *("data=disk", "data.train_examples=30", "data.grid=4", "device=cpu", "progress=false"),
    *("model=torch", "optim.steps=4", "optim.stop_loss=null", "probing.examples=5"),
    "probe=[spectrum]",
)
WIDE = (f"model.of={HOME}.wide", "model.options={inputs: 2, width: 4}")


def test_the_weights_are_those_that_it_draws_from_the_runs_stream() -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    options = Torch(of=f"{HOME}.wide", options={"inputs": 2, "norm": True})
    one, other = (build(options, (2,), 1, seed) for seed in (0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert isinstance(one, type(wide(2))) and one[0].weight.abs().max() <= 2**-0.5
    assert not torch.equal(one[0].weight, other[0].weight)
    assert all(module.training for module in one.modules())
    assert options.couples_examples()


@pytest.mark.parametrize("of", ["Conv1d", "Conv2d", "Conv3d"])
def test_convolutions_of_any_dimension_are_drawn_anew_where_asked(of: str) -> None:
    layer = getattr(torch.nn, of)(3, 5, kernel_size=1)
    initialise(layer, Init.kaiming, torch.Generator().manual_seed(0))
    drawn = torch.randn(layer.weight.shape, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(layer.weight.detach(), drawn * (2 / 3) ** 0.5)
    assert not layer.bias.any()


def test_it_is_trained_and_looked_at_as_others_are(tmp_path: Path) -> None:
    run = train(tmp_path, *WORDS, *WIDE)
    assert torch.load(run / "weights.pt")["0.weight"].shape == (4, 2)
    assert (run / "spectrum.parquet").exists()
    members = train(tmp_path, *WORDS, *WIDE, "members={seed: [0, 1]}")
    assert torch.load(members / "weights.pt")["0.weight"].shape == (2, 4, 2)


@pytest.mark.parametrize("objective", ["cross_entropy", "reconstruction"])
def test_it_has_the_outputs_that_the_objective_takes(tmp_path: Path, objective: str) -> None:
    """Two for two classes with cross-entropy, where others take one."""
    net = ("model.of=torch.nn.Linear", "model.options={in_features: 2, out_features: 2}")
    words = (*WORDS[:-1], "probe=[]", *net, f"objective={objective}", "members={data.grid: [4, 5]}")
    run = ntkexp.run(None, words, runs=tmp_path)
    assert torch.load(run.folder / "weights.pt")["weight"].shape == (2, 2, 2)


def test_keys_of_its_options_may_be_numbers() -> None:
    widths = "model.options={inputs: 2, widths: {1: 5, 2: 4}}"
    config = composed([*WORDS, f"model.of={HOME}.by_widths", widths])
    assert config.model.options.widths == {1: 5, 2: 4}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "model.of: has no value"),
        (("model.of=nowhere.Net",), "No module named 'nowhere'"),
        ((f"model.of={HOME}.narrow",), "has no narrow"),
        (("model.of=narrow",), "expected MODULE.CLASS"),
        ((f"model.of={HOME}.number",), "gives a int; expected"),
        ((f"model.of={HOME}.frozen",), "has no weights that train"),
        ((f"model.of={HOME}.wide",), "missing 1 .* expected 'model.options={inputs: VAL"),
        ((f"model.of={HOME}:wide",), f"model.of={HOME}:wide: expected {HOME}.wide"),
        ((f"model.of={HOME}.ready",), "ready: is a network already"),
        ((*WIDE, "model.options.outputs=3"), r"gives \(2, 3\) for 2 examples; .* takes \(2, 1\)"),
        ((*WIDE, "model.options.inputs=3"), r"does not take inputs of 2 \(0, Linear"),
        (
            (f"model.of={HOME}.Picky", "model.options={in_features: 3, out_features: 1}"),
            r"does not take inputs of 2 \(of another length\)",
        ),
        (
            ("model.of=torch.nn.MultiheadAttention", "model.options={embed_dim: 5, num_heads: 2}"),
            r"cannot be made \(embed_dim must be divisible",
        ),
        ((*WIDE, "model.options.norm=true", "probe=[measures]"), "batch normalisation"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_composed(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(UserError, match=said):
        composed([*WORDS, *words])


def test_one_that_reads_its_weights_while_it_is_built_is_built_later(tmp_path: Path) -> None:
    run = train(tmp_path, *WORDS, f"model.of={HOME}.turned")
    assert torch.load(run / "weights.pt")["weight"].shape == (1, 2)


def test_what_cannot_be_built_later_is_refused_then(tmp_path: Path) -> None:
    words = ("model.of=torch.nn.Linear", "model.options={in_features: -1, out_features: 1}")
    with pytest.raises(UserError, match=r"cannot be made \(Trying to create tensor"):
        train(tmp_path, *WORDS, *words)


@pytest.mark.usefixtures("made_images")
def test_a_network_of_torchvision(tmp_path: Path) -> None:
    words = ("data=cifar10", "model=torch", "model.of=torchvision.models.squeezenet1_1", *TINY)
    run = train(tmp_path, *words, "model.options={num_classes: 10}", "probe=[]", "optim.steps=2")
    assert torch.load(run / "weights.pt")["classifier.1.weight"].shape[0] == 10


def test_kernels_are_checked_as_those_of_a_network_of_ones_own(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="couples the examples"):
        ntkexp.run(None, [*WORDS, f"model.of={HOME}.Mixing"], runs=tmp_path)


def test_a_kept_file_imports_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone_module.py").write_text(
        "from torch import nn\n\n\ndef net():\n    return nn.Linear(2, 1)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    words = [*WORDS, "model.of=gone_module.net"]
    run = ntkexp.run(None, words, runs=tmp_path / "runs")
    (tmp_path / "gone_module.py").write_text("raise SystemError('imported')\n")
    del sys.modules["gone_module"]
    assert len(ntkexp.results.read(run.folder).tables["evals"]) > 0
    assert len(ntkexp.results.runs(tmp_path / "runs")) == 1
    assert "gone_module" not in sys.modules
