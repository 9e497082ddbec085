"""optim.precision=bf16: an update under autocast, and everything else in float32."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from torch.nn import functional

from ntkexp import models
from ntkexp.data import load
from ntkexp.data.batches import Batches
from ntkexp.data.yin_yang import YinYang
from ntkexp.errors import UserError
from ntkexp.models.mlp import Mlp
from tests.tiny_runs import TINY, assert_same_files, composed, identity, table, train

BF16 = "optim.precision=bf16"
NET = ("model.depth=1", "model.width=6")
WORDS = (
    *("data=yin_yang", "data.train_examples=30", "data.grid=4", "device=cpu", "progress=false"),
    *("optim.lr=0.03", "optim.batch_size=10", "optim.steps=9"),
    *("optim.stop_loss=null", "probe=[spectrum]", "probing.examples=5", *NET),
)


def by_hand() -> list[torch.Tensor]:
    """The weights of a plain loop of PyTorch under autocast."""
    split = load(YinYang(train_examples=30, grid=4), seed=0, device=torch.device("cpu")).train
    net = models.build(Mlp(depth=1, width=6), (2,), 1, seed=0)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9)
    batches = Batches(30, 10, 0, torch.device("cpu"))
    for step in range(9):
        inputs, targets = batches.take(step, split.inputs, split.targets)
        with torch.autocast("cpu", torch.bfloat16):
            outputs = net(inputs)[:, 0]
        assert outputs.dtype == torch.bfloat16
        losses = functional.binary_cross_entropy_with_logits(
            outputs.float(), targets.float(), reduction="none"
        )
        optimiser.zero_grad()
        losses.mean().backward()
        optimiser.step()
    return [w.detach() for w in net.parameters()]


def test_it_is_a_loop_under_autocast_and_resumes_bit_for_bit(tmp_path: Path) -> None:
    run = train(tmp_path / "whole", *WORDS, BF16)
    for mine, theirs in zip(torch.load(run / "weights.pt").values(), by_hand(), strict=True):
        assert mine.dtype == torch.float32 and torch.equal(mine, theirs)
    train(tmp_path / "cut", *WORDS, BF16, stop_at=5)
    assert_same_files(run, train(tmp_path / "cut", *WORDS, BF16))


def test_probes_and_evaluation_see_float32(tmp_path: Path) -> None:
    """Before the first update both runs are one network: to the last bit, if nothing is halved."""
    whole, half = (train(tmp_path, *WORDS, *more) for more in ((), (BF16,)))
    for name in ("evals", "spectrum"):
        first, other = (table(run, name).query("step == 0") for run in (whole, half))
        pd.testing.assert_frame_equal(first, other, check_exact=True)
    steps = [table(run, "steps")["train_loss"] for run in (whole, half)]
    assert 0 < (steps[0] - steps[1]).abs().max() < 0.02


@pytest.mark.parametrize("model", ["cnn", "resnet18"])
def test_networks_of_images_train_in_it(model: str, tmp_path: Path, made_images: None) -> None:
    words = (*TINY, f"model={model}", "model.base=2", "probe=[]", "optim.steps=6")
    losses = [
        table(train(tmp_path, *words, *more), "steps")["train_loss"] for more in ((), (BF16,))
    ]
    assert losses[0].iloc[0] == pytest.approx(losses[1].iloc[0], rel=0.02)


def test_float32_leaves_every_id_as_it_is() -> None:
    unsaid, whole, half = (
        identity(composed([*WORDS, *more])) for more in ((), ("optim.precision=float32",), (BF16,))
    )
    assert unsaid == whole != half


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("transform=linearise",), "transform=linearise trains in float32"),
        (("transform=alpha_scale",), "transform=alpha_scale trains in float32"),
        (
            ("probe=[complexity]", "probe.complexity.batch=minibatch"),
            "probe.complexity looks at the forward",
        ),
        (("members={seed: [0, 1]}",), "members.optim.precision: bf16 is for one network a run"),
        (("optim=tests.optim.made_fisher.Fisher",), "looks at the forward of each minibatch"),
    ],
)
def test_what_computes_with_an_updates_forward_is_refused(
    words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=said):
        train(tmp_path, *WORDS, *words, BF16)
