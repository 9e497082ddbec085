"""The numbers in the line that says how far a run came."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ntkexp.results.numbers.standing import last_numbers, progress
from ntkexp.results.summary import summary_of
from tests.tiny_runs import train


def evals(*rows: tuple[int, str, float, float], **columns: object) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["step", "split", "loss", "accuracy"])
    return frame.assign(**columns)


def told(frame: pd.DataFrame) -> list[tuple[str, str]]:
    return list(last_numbers(summary_of({"evals": frame})).items())


def test_of_one_network_the_numbers_of_the_last_evaluation_alone() -> None:
    frame = evals((0, "train", 2.3, 0.1), (7, "train", 0.25, 0.95), (7, "test", 0.5, 0.9))
    assert told(frame) == [
        ("train loss", "0.25"),
        ("train accuracy", "0.95"),
        ("test loss", "0.5"),
        ("test accuracy", "0.9"),
    ]


def test_of_several_networks_mean_least_and_most() -> None:
    frame = evals((7, "test", 0.2, 0.9), (7, "test", 0.6, 0.8), seed=[0, 1])
    assert told(frame) == [
        ("test loss", "0.4 (0.2 to 0.6)"),
        ("test accuracy", "0.85 (0.8 to 0.9)"),
    ]
    assert summary_of({"evals": frame}).networks == 2


def test_targets_that_are_numbers_have_no_accuracy() -> None:
    assert told(evals((7, "test", 0.2, np.nan))) == [("test loss", "0.2")]


def test_a_subset_is_named_and_all_examples_are_not() -> None:
    frame = evals((7, "train", 0.2, 0.9), (7, "train", 3.0, 0.1), subset=["all", "noisy"])
    assert [key for key, _ in told(frame)] == [
        "train loss",
        "train accuracy",
        "train noisy loss",
        "train noisy accuracy",
    ]


def test_before_an_evaluation_there_is_nothing_to_tell() -> None:
    assert told(evals()) == []
    assert summary_of({}).networks == summary_of({"evals": evals()}).networks == 1
    assert last_numbers(summary_of({})) == {}


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        (["optim.steps=3"], " of at most 3 steps"),
        (["optim.steps=null", "optim.epochs=2"], " of at most 2 epochs"),
        (["optim.steps=3", "optim.epochs=20"], " of at most 3 steps or 20 epochs"),
    ],
)
def test_how_far_a_run_came_of_how_far_it_may(words: list[str], limit: str, tmp_path: Path) -> None:
    sizes = ["data=disk", "model.depth=2", "model.width=4", "data.grid=4", "probe=[]"]
    run = train(tmp_path, *sizes, "data.train_examples=8", "optim.batch_size=4", *words)
    line = progress(run)
    assert line.startswith(f"step {3 if 'optim.steps=3' in words else 4}{limit}; train loss ")
