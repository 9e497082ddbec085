"""Pairs of one's own in a file, and what bounds show with the best function."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ntkexp import information
from ntkexp.errors import UserError
from ntkexp.foreign.pairs import pairs_in
from ntkexp.studies.information_limits import InformationLimits
from tests.tiny_runs import goes_on, table, train

STREAM = np.random.default_rng(0)
X = STREAM.normal(size=(120, 2))
Z = X[:, :1] + 0.3 * STREAM.normal(size=(120, 1))


def test_a_file_is_estimated_as_arrays_are_fold_by_fold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "pairs.npz", x=X, z=Z)
    words = ("study=information_estimate", f"study.file={tmp_path / 'pairs.npz'}",
             "study.updates=60", "progress=false")  # fmt: skip
    run = goes_on(tmp_path, *words, stop_at=4, command="study")
    (found,) = table(run, "information_estimate").to_dict("records")
    by_hand = information.estimate(X, Z, steps=60)
    assert found["value"] == pytest.approx(by_hand.value)
    assert found["shuffled"] == pytest.approx(by_hand.shuffled)
    assert found["limit"] == by_hand.limit
    folds = table(run, "information_folds")
    assert folds.groupby("shuffled")["value"].mean()[False] == pytest.approx(by_hand.value)
    assert str(by_hand) in capsys.readouterr().out


def test_parquet_has_columns_that_begin_so(tmp_path: Path) -> None:
    file = tmp_path / "pairs.parquet"
    frame = pd.DataFrame({"z": Z[:, 0], "x0": X[:, 0], "x1": X[:, 1], "other": 1})
    frame.to_parquet(file)
    x, z = pairs_in(str(file))
    assert np.array_equal(x, X)
    assert np.array_equal(z, Z)


def test_what_is_no_file_of_pairs_is_refused(tmp_path: Path) -> None:
    for name in ("broken.npz", "broken.parquet"):
        (tmp_path / name).write_text("no file of numbers")
    np.savez(tmp_path / "lacking.npz", x=X)
    pd.DataFrame({"y": [1.0]}).to_parquet(tmp_path / "lacking.parquet")
    for name, why in (
        ("absent.npz", "expected an .npz or .parquet file that is there"),
        ("broken.npz", "cannot be read"),
        ("broken.parquet", "cannot be read"),
        ("lacking.npz", "has no array z$"),
        ("lacking.parquet", "has no column that begins with x and no z$"),
    ):
        with pytest.raises(UserError, match=why):
            pairs_in(str(tmp_path / name))


def test_without_a_file_the_study_says_what_it_wants(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"study.file=: expected an .npz or .parquet file"):
        train(tmp_path, "study=information_estimate", command="study")


def test_donsker_varadhan_is_too_high_nwj_one_nat_and_info_nce_below_its_log() -> None:
    """Twenty coordinates. With I = .94 a thousand pairs show all three; with 16.6 none does."""
    study = InformationLimits(rhos=[0.3, 0.9], sizes=[100, 1000], repetitions=60)
    found = study.run()["information_limits"].set_index(["rho", "n", "bound"])
    means, medians, error = found["mean"], found["median"], found["error"]
    truths = found["truth"]
    dv = found.xs("DV", level="bound")
    assert (dv["mean"] > dv["truth"] - 3 * dv["error"]).all()
    small = 0.3, 1000
    assert abs(means[(*small, "NWJ")] - truths[(*small, "NWJ")]) < 3 * error[(*small, "NWJ")] + 0.02
    assert means[(*small, "InfoNCE")] < truths[(*small, "InfoNCE")]
    assert medians[0.9, 1000, "NWJ"] == pytest.approx(truths[0.9, 1000, "NWJ"] + 1, abs=0.1)
    assert means[0.9, 1000, "DV"] > truths[0.9, 1000, "DV"] + 5
    assert means[0.9, 1000, "InfoNCE"] == pytest.approx(np.log(128), abs=0.01)
    assert means[0.9, 100, "InfoNCE"] == pytest.approx(np.log(100), abs=0.01)
