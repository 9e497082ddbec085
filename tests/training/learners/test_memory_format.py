"""Images lie in memory as is quickest, and nothing but rounding comes of it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch

from ntkexp.training.learners import network as network_learner
from ntkexp.training.learners.network import NetworkLearner, quick_layout
from tests.tiny_runs import TINY, train

pytestmark = pytest.mark.usefixtures("made_images")

NETS = {
    "vgg": ("model=vgg11", "model.base=8"),
    "resnet": ("model=resnet18", "model.base=8"),
}


def test_only_convolutions_on_a_cpu_want_channels_last() -> None:
    convolutions = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten())
    assert quick_layout(convolutions, torch.device("cpu")) is torch.channels_last
    assert quick_layout(convolutions, torch.device("cuda")) is torch.contiguous_format
    assert quick_layout(torch.nn.Linear(3, 4), torch.device("cpu")) is torch.contiguous_format


@pytest.mark.parametrize("net", sorted(NETS))
def test_a_run_differs_from_one_in_the_plain_layout_by_rounding(
    net: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (*TINY, *NETS[net], "data=cifar10", "probe=[]", "optim.steps=5", "optim.lr=0.001")
    turned: list[bool] = []
    forward = NetworkLearner._outputs

    def watched(self: NetworkLearner, inputs: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
        turned.append(inputs.is_contiguous(memory_format=torch.channels_last))
        return forward(self, inputs, numbers)

    monkeypatch.setattr(NetworkLearner, "_outputs", watched)
    quick = pd.read_parquet(train(tmp_path / "quick", *words) / "steps.parquet")
    monkeypatch.setattr(network_learner, "quick_layout", lambda *_: torch.contiguous_format)
    slow = pd.read_parquet(train(tmp_path / "plain", *words) / "steps.parquet")
    assert turned == 5 * [True] + 5 * [False]
    assert len(quick) == len(slow) == 5
    assert (quick["train_loss"] / slow["train_loss"] - 1).abs().max() < 1e-3
