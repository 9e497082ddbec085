"""An optimiser may look at the forward of its minibatch, as probes do; one file of one's own."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from torch import nn
from torch.nn import functional

from ntkexp import models
from ntkexp.data import load
from ntkexp.data.yin_yang import YinYang
from ntkexp.errors import UserError
from ntkexp.models.mlp import Mlp
from tests.tiny_runs import composed, train

WORDS = (
    *("optim=tests.optim.made_scaling.Scaled", "optim.damping=0.2", "optim.lr=0.3"),
    *("data=yin_yang", "data.train_examples=30", "data.grid=4", "device=cpu", "progress=false"),
    *("model=mlp", "model.depth=1", "model.width=6", "probe=[]", "optim.batch_size=null"),
    *("optim.steps=5", "optim.stop_loss=null"),
)


def by_hand(steps: int) -> nn.Module:
    split = load(YinYang(train_examples=30, grid=4), seed=0, device=torch.device("cpu")).train
    net = models.build(Mlp(depth=1, width=6), (2,), 1, seed=0)
    layers = [layer for layer in net.modules() if isinstance(layer, nn.Linear)]
    squares = [torch.zeros(2), torch.zeros(6)]
    for _ in range(steps):
        hidden = functional.relu(layers[0](split.inputs))
        outputs = layers[1](hidden).squeeze(1)
        targets = split.targets.to(outputs.dtype)
        loss = functional.binary_cross_entropy_with_logits(outputs, targets)
        gradients = torch.autograd.grad(loss, list(net.parameters()))
        inputs = (split.inputs, hidden.detach())
        squares = [0.5 * s + 0.5 * x.square().mean(0) for s, x in zip(squares, inputs, strict=True)]
        with torch.no_grad():
            for place, (weight, g) in enumerate(zip(net.parameters(), gradients, strict=True)):
                weight -= 0.3 * (g / (squares[place // 2] + 0.2) if g.ndim > 1 else g)
    return net


def test_it_sees_what_enters_the_layers_of_every_update(tmp_path: Path) -> None:
    run = train(tmp_path, *WORDS)
    end = torch.load(run / "weights.pt").values()
    for weight, value in zip(by_hand(5).parameters(), end, strict=True):
        torch.testing.assert_close(weight.detach(), value)


def test_it_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    whole = train(tmp_path / "whole", *WORDS)
    train(tmp_path / "cut", *WORDS, stop_at=3)
    cut = train(tmp_path / "cut", *WORDS)
    pd.testing.assert_frame_equal(*(pd.read_parquet(run / "steps.parquet") for run in (whole, cut)))
    assert (whole / "weights.pt").read_bytes() == (cut / "weights.pt").read_bytes()


def test_a_stack_of_networks_has_no_forward_for_each(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"optim=tests.optim.made_scaling.Scaled looks at"):
        train(tmp_path, *WORDS, "members={seed: [0, 1]}")


def test_its_options_are_composed() -> None:
    assert composed(WORDS).optim.damping == 0.2
