"""Images in tenths by a score, and files of scores that are those of other images."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from ntkexp import data
from ntkexp.data.deciles import Scored
from ntkexp.data.images.sources import read
from ntkexp.data.scored_mnist import ScoredMnist
from ntkexp.errors import UserError
from ntkexp.references import FromRun
from ntkexp.seeds import generator
from ntkexp.studies.c_scores import CScores

CPU = torch.device("cpu")
pytestmark = pytest.mark.usefixtures("made_images")


@pytest.fixture
def published(tmp_path: Path) -> Path:
    labels = read("mnist", "train").labels
    path = tmp_path / "scores.npz"
    np.savez(path, scores=np.linspace(0, 1, len(labels))[::-1], labels=labels)
    return path


def scored(path: Path | None, **options: Any) -> Scored:
    few = {"train_examples": 40, "test_examples": 20}
    return ScoredMnist(score_file=None if path is None else str(path), **{**few, **options})


def test_tenths_are_by_score_and_belong_to_their_images(published: Path) -> None:
    found = data.load(scored(published), seed=3, device=CPU, progress=False)
    images, scores = read("mnist", "train"), np.load(published)["scores"]
    row_of = {one.tobytes(): row for row, one in enumerate(images.pixels)}
    assert len(row_of) == len(images)
    std, mean = np.array(found.std), np.array(found.mean)
    for split, size in ((found.train, 40), (found.test, 20)):
        pixels = np.rint((split.inputs.numpy() * std + mean) * 255).astype(np.uint8)
        rows = np.array([row_of[one.tobytes()] for one in pixels])
        assert np.array_equal(images.labels[rows], split.targets.numpy())
        own = scores[rows]
        for tenth in range(10):
            members = split.subsets()[f"decile{tenth + 1}"].numpy()
            assert members.sum() == size // 10
            low, high = np.quantile(own, [tenth / 10, (tenth + 1) / 10])
            assert ((own[members] >= low) & (own[members] <= high)).all()
    both = {one.numpy().tobytes() for one in found.train.inputs}
    assert not both & {one.numpy().tobytes() for one in found.test.inputs}


def test_the_file_of_scores_stands_among_the_checksums(published: Path) -> None:
    config = scored(published)
    before = dict(config.files())
    found = data.load(config, seed=0, device=CPU, progress=False)
    assert found.checksums == before and str(published) in before
    labels = read("mnist", "train").labels
    np.savez(published, scores=np.zeros(len(labels)), labels=labels)
    assert dict(config.files()) != before


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """Scores that a study gave to the first 100 of the images, by their number in the file."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "example": np.arange(100),
            "label": read("mnist", "train").labels[:100],
            "score": np.round(rng.random(100)),
            "probability": rng.random(100),
        }
    ).sample(frac=1, random_state=0)
    monkeypatch.setattr(FromRun, "table", lambda needed, *columns: table)
    return table.set_index("example")


def of_a_study(**options: Any) -> Scored:
    config = scored(None, **options)
    config.score.run = "lazy/c_scores"
    return config


def test_scores_come_from_a_study_too(study: pd.DataFrame) -> None:
    """Equal scores are put in order by the probability of the right class."""
    found = data.load(of_a_study(), seed=0, device=CPU, progress=False)
    order = torch.randperm(len(study), generator=generator(0, "subset")).numpy()[:40]
    expected = study.loc[order].reset_index(drop=True).sort_values(["score", "probability"])
    for tenth in range(10):
        members = found.train.subsets()[f"decile{tenth + 1}"].nonzero()[:, 0].tolist()
        assert set(members) == set(expected.index[4 * tenth : 4 * tenth + 4])


def test_of_images_that_a_study_did_not_score_none_is_trained_on(study: pd.DataFrame) -> None:
    found = data.load(of_a_study(train_examples=80), seed=0, device=CPU, progress=False)
    std, mean = np.array(found.std), np.array(found.mean)
    inputs = torch.cat([found.train.inputs, found.test.inputs]).numpy()
    pixels = {np.rint((one * std + mean) * 255).astype(np.uint8).tobytes() for one in inputs}
    assert pixels == {one.tobytes() for one in read("mnist", "train").pixels[:100]}
    with pytest.raises(UserError, match="mnist has 100 scored training images for both"):
        data.load(of_a_study(train_examples=90), seed=0, device=CPU, progress=False)


def test_a_small_study_scores_as_many_images_as_a_small_run_takes() -> None:
    taken = Scored.small["train_examples"] + Scored.small["test_examples"]
    assert taken <= CScores.small["examples"]


def test_scores_in_another_order_are_refused(published: Path) -> None:
    """The official order and that of a shuffled copy have other labels in the same rows."""
    labels = np.load(published)["labels"][::-1]
    np.savez(published, scores=np.linspace(0, 1, len(labels)), labels=labels)
    with pytest.raises(UserError, match=r"row 1: label \d, mnist has \d there .* the order of"):
        data.load(scored(published), seed=0, device=CPU, progress=False)


def test_scores_of_fewer_images_are_refused(published: Path) -> None:
    np.savez(published, scores=np.zeros(7), labels=np.zeros(7, int))
    with pytest.raises(UserError, match="scores of 7 images, mnist has"):
        data.load(scored(published), seed=0, device=CPU, progress=False)


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"PK\3\4 and then nothing", b"some words", [0.5, 0.25], {"scores": [0.5]}),
        {"scores": np.zeros((300, 2)), "labels": np.arange(300) % 10},
    ],
)
def test_a_damaged_file_is_one_line(content: Any, tmp_path: Path) -> None:
    path = tmp_path / "scores.npz"
    if isinstance(content, list):
        with path.open("wb") as file:
            np.save(file, np.array(content))
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.savez(path, **content)
    with pytest.raises(UserError, match=r"data.score_file=.*scores\.npz: cannot be read"):
        data.load(scored(path), seed=0, device=CPU, progress=False)


def test_a_missing_file_and_a_missing_choice_are_one_line(tmp_path: Path, published: Path) -> None:
    with pytest.raises(UserError, match=r"cannot be read .*No such file"):
        data.load(scored(tmp_path / "none.npz"), seed=0, device=CPU, progress=False)
    with pytest.raises(UserError, match="neither is given"):
        scored(None).check()
    both = scored(published)
    both.score = replace(both.score, run="lazy/c_scores")
    with pytest.raises(UserError, match="both are given"):
        both.check()
    with pytest.raises(UserError, match=r"has .* training images for both"):
        data.load(scored(published, train_examples=10**6), seed=0, device=CPU, progress=False)
