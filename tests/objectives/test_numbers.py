"""Objectives on numbers, of any count: regression and reconstruction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest
import torch

from ntkexp.data.base import Data, Shape
from ntkexp.data.dataset import Dataset, Split
from ntkexp.errors import UserError
from ntkexp.seeds import generator
from tests.tiny_runs import TINY, train


@dataclass
class Sums(Data):
    """Three numbers of each of thirty points."""

    def shape(self) -> Shape:
        return Shape(inputs=(2,), outputs=3, examples=30)

    def build(self, seed: int, device: torch.device, *, progress: bool) -> Dataset:
        points = torch.randn(60, 2, generator=generator(seed, "sums"))
        numbers = torch.stack([points.sum(1), points[:, 0] - 1, 2 * points[:, 1]], dim=1)
        splits = [Split.clean(points[part], numbers[part]) for part in (slice(30), slice(30, 60))]
        return Dataset("sums", *splits, classes=None, input_shape=(2,), checksums={})


NET = ("model=mlp", "model.depth=1", "model.width=30", "optim=adam", "probe=[]")


@pytest.mark.parametrize("members", [(), ("members={seed: [0, 1]}",)])
def test_regression_on_three_numbers(tmp_path: Path, members: tuple[str, ...]) -> None:
    words = ("data=tests.objectives.test_numbers.Sums", *NET, "optim.batch_size=null", *members)
    quick = ("optim.steps=300", "optim.stop_loss=null", "device=cpu", "progress=false")
    run = train(tmp_path, *words, *quick, "evaluate.metrics=[r_squared]")
    metrics = pd.read_parquet(run / "metrics.parquet")
    end = metrics[metrics["step"] == 300]
    assert (end["value"] > 0.9).all() and set(end["split"]) == {"train", "test"}
    first = 2 if members else 0
    shape = (30, 2) if not first else (2, 30, 2)
    assert torch.load(run / "weights.pt")["hidden1.weight"].shape == shape


@pytest.mark.usefixtures("made_images")
def test_images_are_given_back(tmp_path: Path) -> None:
    words = ("data=mnist", "objective=reconstruction", *NET, *TINY, "optim.steps=60")
    run = train(tmp_path, *words)
    assert torch.load(run / "weights.pt")["output.weight"].shape == (784, 30)
    evals = pd.read_parquet(run / "evals.parquet").query("split == 'train' and subset == 'all'")
    assert evals["loss"].iloc[-1] < 0.5 * evals["loss"].iloc[0] and evals["accuracy"].isna().all()
    as_shades = ("objective.loss=bernoulli", "data.standardise=none")
    evals = pd.read_parquet(train(tmp_path, *words, *as_shades) / "evals.parquet")
    losses = evals.query("split == 'train'")["loss"]
    assert losses.iloc[0] == pytest.approx(math.log(2), rel=0.1)  # of log-odds near 0
    assert losses.iloc[-1] < 0.95 * losses.iloc[0]
    with pytest.raises(UserError, match=r"go from -.* 0 to 1, for images data.standardise=none"):
        train(tmp_path, *words, as_shades[0])
    with pytest.raises(UserError, match="targets are the examples as they are"):
        train(tmp_path, *words, "data=cifar10", "data.augment=crop_flip")
