"""Every eigenvalue of both kernels, and what the figures derive from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ntkexp.errors import UserError
from ntkexp.results.numbers.curves import centred
from tests.tiny_runs import TINY, train

pytestmark = pytest.mark.usefixtures("made_images")

NET = ("model=mlp", "data=mnist", "model.depth=2", "model.width=9", "optim.steps=6")


def test_all_eigenvalues_of_both_kernels_in_order(tmp_path: Path) -> None:
    run = train(tmp_path, *TINY, *NET, "probe=[spectrum]", "probe.spectrum.layers=true")
    rows = pd.read_parquet(run / "spectrum.parquet")
    for _, part in rows.groupby(["step", "split", "layer"]):
        assert part["rank"].tolist() == list(range(1, 61))
        assert (np.diff(part["eigenvalue"]) <= 0).all()
        # Centring by class takes one direction from each of ten classes.
        assert (part["eigenvalue"].iloc[-10:] < 1e-5 * part["eigenvalue"].iloc[0]).all()
    assert set(rows["layer"]) == {"total", "hidden1", "hidden2", "output"}


def test_the_uncentred_spectrum_stands_beside_the_centred_one_and_moves_no_figure(
    tmp_path: Path,
) -> None:
    words = (*TINY, *NET, "probe=[spectrum]")
    plain, both = (
        train(tmp_path / name, *words, *more)
        for name, more in (("plain", ()), ("both", ("probe.spectrum.uncentred=true",)))
    )
    rows = pd.read_parquet(both / "spectrum.parquet")
    uncentred = rows[rows["centring"] == "none"]
    pd.testing.assert_frame_equal(
        centred(rows).reset_index(drop=True), pd.read_parquet(plain / "spectrum.parquet")
    )
    assert len(uncentred) == len(rows) / 2
    # Centring takes away what all examples have in common: the trace falls.
    traces = rows.groupby(["centring", "step", "split"])["eigenvalue"].sum()
    assert (traces["none"] > traces["class"]).all()


def test_the_traces_of_the_layers_sum_to_that_of_the_whole(tmp_path: Path) -> None:
    run = train(tmp_path, *TINY, *NET, "probe=[spectrum]", "probe.spectrum.layers=true")
    rows = pd.read_parquet(run / "spectrum.parquet")
    traces = rows.groupby(["step", "split", "layer"])["eigenvalue"].sum().unstack()
    np.testing.assert_allclose(traces.drop(columns="total").sum(axis=1), traces["total"], rtol=1e-5)


def test_batch_normalisation_can_be_taken_with_the_statistics_of_the_batch(tmp_path: Path) -> None:
    net = ("model=resnet18", "data=cifar10", "model.base=2", "optim.steps=3", "probe=[spectrum]")
    found = {}
    for mode in ("eval", "train"):
        run = train(tmp_path, *TINY, *net, f"probing.batch_norm={mode}")
        found[mode] = pd.read_parquet(run / "spectrum.parquet"), (run / "weights.pt").read_bytes()
    assert found["eval"][1] == found["train"][1]
    assert not np.allclose(found["eval"][0]["eigenvalue"], found["train"][0]["eigenvalue"])


def test_kernels_of_other_inputs_than_the_batch_have_no_statistics_of_it(tmp_path: Path) -> None:
    net = ("model=resnet18", "data=cifar10", "model.base=2", "optim.steps=3")
    with pytest.raises(UserError, match=r"expected probing\.batch_norm=eval"):
        train(tmp_path, *TINY, *net, "probe=[leave_one_out]", "probing.batch_norm=train")
