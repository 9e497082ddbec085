"""A run's number by its path, against the rows that it means."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest

from ntkexp.errors import UserError
from ntkexp.results.numbers.metric import curve_of, refuse_unknown, value
from ntkexp.results.table import STEP, Table, float64, int64, string
from tests.conftest import TINY_DISK, Ntkexp

EVALS = Table("evals", "", {"step": STEP, "split": string(""), "subset": string(""),
                            "loss": float64(""), "accuracy": float64("")})  # fmt: skip
SPECTRUM = Table("spectrum", "", {"step": STEP, "layer": string(""), "rank": int64(""),
                                  "eigenvalue": float64("")})  # fmt: skip
SUMS = Table("sums", "", {"n": int64(""), "sum": float64("")})
TABLES: Mapping[str, pd.DataFrame] = {
    "evals": EVALS.frame(
        {
            "step": [5, 5, 5, 0, 0, 0, 9, 9, 9],
            "split": ["train", "test", "test"] * 3,
            "subset": ["all", "all", "easy"] * 3,
            "loss": [2.0, 2.5, 2.1, 3.0, 3.5, 3.1, 1.0, 2.7, 1.1],
            "accuracy": [0.5, 0.4, 0.6, 0.1, 0.2, 0.3, 0.9, 0.3, 0.8],
        }
    ),
    "spectrum": SPECTRUM.frame(
        {
            "step": [0, 0, 0, 0],
            "layer": ["total", "total", "layers.1", "layers.1"],
            "rank": [1, 2, 1, 2],
            "eigenvalue": [8.0, 4.0, 2.0, 1.0],
        }
    ),
    "sums": SUMS.frame({"n": [1, 2, 3], "sum": [1.0, 1.5, 1.8]}),
    "rates": pd.DataFrame({"step": [0, 0], "optim.lr": [0.1, 0.2], "loss": [2.0, 1.0]}),
    "empty": SUMS.empty(),
    "broken": SUMS.frame({"n": [1], "sum": [float("nan")]}),
}


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("evals.train.loss", 1.0),
        ("evals.test.loss", 2.7),
        ("evals.test.loss.last", 2.7),
        ("evals.test.loss.best", 2.5),
        ("evals.test.loss.max", 3.5),
        ("evals.test.accuracy.best", 0.4),
        ("evals.test.accuracy.min", 0.2),
        ("evals.test.easy.loss", 1.1),
        ("evals.easy.test.loss", 1.1),
        ("spectrum.rank:2.eigenvalue", 4.0),
        ("spectrum.layers.1.rank:1.eigenvalue", 2.0),
        ("sums.sum", 1.8),
        ("sums.n:2.sum", 1.5),
    ],
)
def test_a_path_names_one_number(path: str, number: float) -> None:
    assert value(path, TABLES) == number


def test_a_curve_goes_by_steps_not_by_rows() -> None:
    assert curve_of("evals.test.loss", TABLES) == [3.5, 2.5, 2.7]


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("evals", "expected TABLE.COLUMN"),
        ("evals..loss", "expected TABLE.COLUMN"),
        ("", "expected TABLE.COLUMN"),
        ("spectrum.rank:1.eigenvalue.best", "what is the best eigenvalue? expected .min or .max"),
        ("eval.test.loss", "no table eval; did you mean evals?; there are evals, spectrum"),
        ("evals.test.los", "evals has no column los; did you mean loss?; it has step, split"),
        ("evals.tset.loss", "no row of evals has tset; there are split: train, test; subset: all"),
        ("evals.loss", "several such rows a step; expected one of split: train, test"),
        ("spectrum.eigenvalue", "expected one of rank: rank:1, rank:2"),
        ("spectrum.rank:3.eigenvalue", "no row of spectrum has rank:3"),
        ("rates.loss", "rates has several such rows a step; expected a run of one network"),
        ("empty.sum", "empty has no rows"),
        ("broken.sum", "is nan, which is no number"),
    ],
)
def test_a_path_that_names_no_number_says_what_there_is(path: str, told: str) -> None:
    with pytest.raises(UserError) as caught:
        value(path, TABLES)
    assert str(caught.value).startswith(f"objective_metric={path}: ")
    assert told in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_what_a_run_will_not_have_is_known_from_its_tables() -> None:
    for path in ("evals.test.loss", "spectrum.rank:1.eigenvalue"):
        refuse_unknown(path, [EVALS, SPECTRUM])
    for path in ("sums.sum", "evals.test.lr", "evals.split"):
        with pytest.raises(UserError, match=r"no table|no column|holds words"):
            refuse_unknown(path, [EVALS, SPECTRUM])


def test_a_run_tells_its_number_and_a_done_one_the_stored(inside: Ntkexp, tmp_path: Path) -> None:
    words = ("train", *TINY_DISK, "objective_metric=evals.test.loss")
    first = inside(*words)
    (folder,) = tmp_path.glob("outputs/disk/*")
    evals = pd.read_parquet(folder / "evals.parquet")
    last = evals[(evals["split"] == "test") & (evals["step"] == 30)]["loss"].item()
    assert first.stdout == (f"finished outputs/disk/{folder.name}\nevals.test.loss = {last:.6g}\n")
    again = inside(*words)
    assert again.stdout.startswith("done already")
    assert again.stdout.endswith(f"\nevals.test.loss = {last:.6g}\n")
    # It is no part of what a run is.
    assert inside("train", *TINY_DISK).stdout.startswith("done already")


def test_a_number_that_no_run_would_have_is_refused_before_it(
    inside: Ntkexp, tmp_path: Path
) -> None:
    for path, told in (
        ("alignment.test.cka", "no table alignment"),
        (
            "evals.nope.loss",
            "no row of evals has nope; expected one of split: train, test; subset:",
        ),
    ):
        done = inside("train", *TINY_DISK, f"objective_metric={path}")
        assert done.returncode == 2
        assert done.stderr.startswith(f"ntkexp: objective_metric={path}: {told}")
        assert not (tmp_path / "outputs").exists()
