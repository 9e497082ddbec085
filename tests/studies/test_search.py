"""A search trains as a run does, point after point."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ntkexp.errors import UserError
from ntkexp.optim.sgd import Sgd
from ntkexp.studies.search import Search
from tests.tiny_runs import goes_on, table, train

pytestmark = pytest.mark.usefixtures("made_images")

DATA = ("train_examples=40", "test_examples=20")
OPTIM = ("batch_size=10", "second=running", "period=3", "norm_constraint=true")
PARTS = (
    "+data@study.data=mnist",
    "+model@study.model=mlp",
    "+objective@study.objective=usual",
    "+optim@study.optim=kfac",
)
WORDS = (
    "study=search",
    *PARTS,
    *(f"study.data.{word}" for word in DATA),
    *("study.model.depth=1", "study.model.width=6", "study.epochs=2", "study.optim.epochs=2"),
    *(f"study.optim.{word}" for word in OPTIM),
    *("device=cpu", "progress=false"),
)
OF_KFAC = ("+optim@study.optim", *(f"study.optim.{word.split('=')[0]}" for word in OPTIM[1:]))
GRID = ("study.rates=[0.1,0.01]", "study.dampings=[0.1,0.001]", "study.drawn=1")


def searched(tmp_path: Path, *words: str) -> pd.DataFrame:
    return table(train(tmp_path, *WORDS, *words, command="study"), "search")


def test_a_point_is_a_training_run_with_its_rate_and_damping(tmp_path: Path) -> None:
    found = searched(tmp_path / "search", *GRID)
    words = ["data=mnist", "model=mlp", "model.depth=1", "model.width=6", "optim=kfac", "probe=[]"]
    words += [*(f"data.{word}" for word in DATA), *(f"optim.{word}" for word in OPTIM)]
    words += ["optim.epochs=2", "optim.stop_loss=null", "device=cpu", "progress=false"]
    words += ["optim.lr=0.01", "optim.damping=0.001", "probing.spacing=linear", "probing.every=4"]
    losses = table(train(tmp_path / "run", *words), "evals").set_index(["split", "step"])["loss"]
    point = found[found["point"] == 3]
    assert point[["lr", "damping"]].drop_duplicates().to_numpy().tolist() == [[0.01, 0.001]]
    for split in ("train", "test"):
        expected = losses[split][[4, 8]]
        assert point[f"{split}_loss"].to_numpy() == pytest.approx(expected.to_numpy(), rel=1e-6)


def test_points_are_the_grid_and_some_between(tmp_path: Path) -> None:
    study = Search(rates=[1.0, 0.01], dampings=[1e-2, 1e-6], drawn=100)
    points = study.points()
    assert [(p.lr, p.damping) for p in points[:4]] == [
        (1.0, 1e-2), (1.0, 1e-6), (0.01, 1e-2), (0.01, 1e-6)
    ]  # fmt: skip
    for values, between in (("lr", (0.01, 1.0)), ("damping", (1e-6, 1e-2))):
        shares = [math.log(getattr(p, values)) for p in points[4:]]
        assert np.mean(shares) == pytest.approx(np.mean(np.log(between)), rel=0.1)
        assert all(between[0] <= math.exp(share) <= between[1] for share in shares)


def test_a_search_that_was_killed_goes_on_alike(tmp_path: Path) -> None:
    goes_on(tmp_path, *WORDS, *GRID, stop_at=13, command="study")


def test_a_point_that_diverges_leaves_the_others_alone(tmp_path: Path) -> None:
    found = searched(tmp_path, "study.rates=[1e25,0.01]", "study.dampings=[0.01]")
    assert np.isinf(found[found["point"] == 0]["train_loss"]).all()
    assert np.isfinite(found[found["point"] == 1]["train_loss"]).all()


def test_an_optimiser_without_damping_has_rates_alone(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"study\.dampings=\[0\.1\]: optim=sgd has no damping"):
        Search(optim=Sgd(), dampings=[0.1]).check()
    sgd = [word for word in WORDS if word.split("=")[0] not in OF_KFAC]
    sgd += ["+optim@study.optim=sgd", "study.rates=[0.1,0.01]"]
    assert table(train(tmp_path, *sgd, command="study"), "search")["damping"].isna().all()
