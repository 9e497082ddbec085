"""The probe writes the scores of the file, in the order in which examples are numbered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ntkexp.data.images.dataset import chosen_rows
from ntkexp.data.images.sources import read_images
from ntkexp.data.mnist import Mnist
from tests.conftest import Ntkexp
from tests.tiny_runs import TINY, train

pytestmark = pytest.mark.usefixtures("made_images")
WORDS = (*TINY, "model=mlp", "model.depth=1", "model.width=8", "optim.steps=3")


def test_scores_are_those_of_the_examples(tmp_path: Path) -> None:
    labels = read_images(Mnist.images, "train", progress=False).labels
    scores = np.random.default_rng(0).random(len(labels))
    np.savez(tmp_path / "scores.npz", scores=scores, labels=labels)
    run = train(
        tmp_path / "out",
        *WORDS,
        "data=scored_mnist",
        f"data.score_file={tmp_path}/scores.npz",
        "probe=[example_scores,leave_one_out]",
        "seed=3",
    )
    found = pd.read_parquet(run / "example_scores.parquet")
    assert (found["step"] == 0).all()
    rows = chosen_rows(3, "subset", len(labels)).numpy()[:60]
    np.testing.assert_array_equal(found["score"], scores[rows])
    left_out = pd.read_parquet(run / "leave_one_out.parquet").query("step == 0")
    np.testing.assert_array_equal(left_out["label"], labels[rows])
    np.testing.assert_array_equal(left_out["example"], found["example"])


def test_data_without_scores_are_refused_in_one_line(inside: Ntkexp, tmp_path: Path) -> None:
    done = inside("train", "+exp=disk", "probe=[example_scores]")
    assert done.returncode == 2
    assert "data=disk has no difficulty scores; expected data that have" in done.stderr
    assert not list(tmp_path.glob("outputs/disk*"))
