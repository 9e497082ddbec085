"""How far weights have moved, beside the weights of a run's checkpoints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from ntkexp import models
from ntkexp.errors import UserError
from ntkexp.models.mlp import Mlp
from ntkexp.probes.distance import Distance
from ntkexp.studies.stepped import NetworksView
from tests.tiny_runs import TINY, train

pytestmark = pytest.mark.usefixtures("made_images")

WORDS = (*TINY, "data=mnist", "model=mlp", "model.depth=2", "model.width=8", "probe=[distance]")
LOOKS = ("optim.steps=20", "probing.spacing=list", "probing.steps=[0,5,20]")


def flat(path: Path) -> torch.Tensor:
    return torch.cat([part.double().flatten() for part in torch.load(path).values()])


@pytest.mark.parametrize("transform", ["plain", "linearise"])
def test_the_distance_is_that_of_the_weights(tmp_path: Path, transform: str) -> None:
    words = (*WORDS, *LOOKS, f"transform={transform}")
    early = train(tmp_path / "early", *words, "optim.steps=5")
    run = train(tmp_path / "whole", *words)
    table = pd.read_parquet(run / "distance.parquet").set_index("step")
    network = models.build(Mlp(depth=2, width=8), (1, 28, 28), 10, seed=0)
    start = torch.cat([w.detach().double().flatten() for w in network.parameters()])
    for step, folder in ((5, early), (20, run)):
        now = flat(folder / "weights.pt")
        cosine = torch.nn.functional.cosine_similarity(start, now, dim=0).item()
        row = table.loc[step]
        assert row["distance"] == pytest.approx((now - start).norm().item(), rel=1e-9)
        assert row["start"] == pytest.approx(start.norm().item(), rel=1e-9)
        assert row["cosine_distance"] == pytest.approx(1 - cosine, rel=1e-6)
    assert table.loc[0, ["distance", "cosine_distance"]].tolist() == [0, 0]
    assert table.loc[20, "distance"] > table.loc[5, "distance"] > 0


def test_weights_that_begin_at_zero_have_no_angle() -> None:
    network = torch.nn.Linear(2, 1)
    for weight in network.parameters():
        torch.nn.init.zeros_(weight)
    view = NetworksView({"model": network}, step=0, seed=0, last=False)
    row = Distance().measure(view)["distance"]
    assert (row["start"], row["distance"]) == (0, 0)
    assert np.isnan(row["cosine_distance"])


def test_it_must_see_the_start(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="expected 0 among them"):
        train(tmp_path, *WORDS, "optim.steps=2", "probing.spacing=list", "probing.steps=[2]")
