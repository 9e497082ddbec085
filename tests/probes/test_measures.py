"""The measures of a network are the formulas of theory.measures on its weights and margins."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from ntkexp.errors import UserError
from ntkexp.probes.measures import path_norm
from ntkexp.theory import measures as theory
from tests.tiny_runs import TINY, composed, train

pytestmark = pytest.mark.usefixtures("made_images")

ONE_LAYER = ("model=mlp", "data=mnist", "model.depth=1", "model.width=20", "probe=[measures]")
TRAINED = ("optim.steps=60", "optim.lr=0.05")


def measures(run: Path) -> pd.Series:
    return pd.read_parquet(run / "measures.parquet").set_index("measure")["value"]


def weights(run: Path) -> dict[str, np.ndarray]:
    return {k: v.numpy() for k, v in torch.load(run / "weights.pt").items() if "weight" in k}


def test_they_are_taken_of_the_weights_at_the_end_and_at_the_beginning(tmp_path: Path) -> None:
    words = (*TINY, *ONE_LAYER)
    # One iteration of no length to speak of leaves the initial weights.
    start = weights(train(tmp_path, *words, "optim.steps=1", "optim.lr=1e-12", "probe=[]"))
    run = train(tmp_path, *words, *TRAINED)
    end, found = weights(run), measures(run)
    U, V = end["hidden1.weight"], end["output.weight"]
    U0, V0 = start["hidden1.weight"], start["output.weight"]
    gamma = found["margin"]
    assert gamma > 0
    assert found["distance"] == pytest.approx(theory.distance([U, V], [U0, V0]), rel=1e-5)
    assert found["spectral_product"] == pytest.approx(theory.spectral_product([U, V]), rel=1e-5)
    paths = V**2 @ U**2
    assert found["l2_path_norm"] == pytest.approx(np.sqrt(paths.sum()), rel=1e-5)
    assert found["neyshabur_core"] == pytest.approx(
        theory.neyshabur_core(U, V, U0, gamma), rel=1e-4
    )
    assert found["spectral_two_one"] == pytest.approx(
        theory.spectral_two_one([U, V], [U0, V0], gamma, examples=60), rel=1e-4
    )
    assert found["parameters"] == 784 * 20 + 20 + 20 * 10 + 10
    assert found["gap_error"] == pytest.approx(found["test_error"] - found["train_error"])


def test_losses_and_errors_are_those_the_loop_evaluates(tmp_path: Path) -> None:
    run = train(tmp_path, *TINY, *ONE_LAYER, *TRAINED)
    evals, found = pd.read_parquet(run / "evals.parquet"), measures(run)
    for split in ("train", "test"):
        last = evals[evals["split"] == split].iloc[-1]
        assert found[f"{split}_loss"] == pytest.approx(last["loss"], rel=1e-3)
        assert found[f"{split}_error"] == pytest.approx(1 - last["accuracy"], abs=1e-12)


def test_margins_are_a_distribution(tmp_path: Path) -> None:
    run = train(tmp_path, *TINY, *ONE_LAYER, *TRAINED)
    margins, found = pd.read_parquet(run / "margins.parquet"), measures(run)
    assert margins["quantile"].tolist() == pytest.approx(np.linspace(0, 1, 101))
    assert margins["margin"].is_monotonic_increasing
    assert margins["margin"][5] == pytest.approx(found["margin"])


def test_without_a_positive_margin_what_it_divides_is_empty_and_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = train(tmp_path, *TINY, *ONE_LAYER, "optim.steps=1", "optim.lr=1e-6")
    found = measures(run)
    assert found["margin"] < 0
    by_margin = ["neyshabur_core", "neyshabur_bound", "spectral_two_one", "inverse_squared_margin"]
    assert found[by_margin].isna().all()
    assert found[["l2_norm", "distance", "fisher_rao"]].notna().all()
    assert "not positive" in capsys.readouterr().err


def test_a_max_pool_is_a_sum_over_paths() -> None:
    net = nn.Sequential(nn.Conv2d(1, 1, 1), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1, 2))
    with torch.no_grad():
        net[0].weight.fill_(-2)
        net[3].weight.copy_(torch.tensor([[3.0], [-1.0]]))
    assert path_norm(net, (1, 2, 2), p=1) == pytest.approx(4 * 2 * (3 + 1))
    assert path_norm(net, (1, 2, 2), p=2) == pytest.approx((4 * 4 * (9 + 1)) ** 0.5)
    assert isinstance(net[1], nn.MaxPool2d)


def test_batch_normalisation_is_refused() -> None:
    words = [*TINY, "model=resnet18", "data=cifar10", "probe=[measures]", "optim.steps=1"]
    with pytest.raises(UserError, match=r"model\.norm=none"):
        composed(words)


def test_they_must_see_the_start() -> None:
    words = [*TINY, *ONE_LAYER, "probing.spacing=list", "probing.steps=[2]", "optim.steps=2"]
    with pytest.raises(UserError, match="expected 0 among them"):
        composed(words)
