"""How many examples are looked at: at most 100, and never fewer than somebody chose."""

from __future__ import annotations

from pathlib import Path

import pytest

from ntkexp.errors import UserError
from tests.tiny_runs import TINY, table, train

FEW = [word for word in TINY if not word.startswith("probing.examples")]
WORDS = (*FEW, "probe=[spectrum]", "optim.steps=1", "model.width=4")


def looked_at(run: Path) -> dict[str, int]:
    """The examples by split: a kernel has ten eigenvalues for each."""
    ranks = table(run, "spectrum").groupby("split")["rank"].max()
    return {str(split): count // 10 for split, count in ranks.items()}


def test_a_small_test_set_is_taken_whole_and_that_is_said_once(
    tmp_path: Path, made_images: None, capsys: pytest.CaptureFixture[str]
) -> None:
    run = train(tmp_path, *WORDS, "data.test_examples=29", "members={seed: [0, 1]}")
    assert looked_at(run) == {"train": 60, "test": 29}
    said = capsys.readouterr().err.splitlines()
    assert said.count("probing.examples=100: there are 29 test examples; all are looked at") == 1


def test_a_scale_is_at_most_too(tmp_path: Path, made_images: None) -> None:
    run = train(tmp_path, *WORDS, "data.test_examples=12", "scale=small")
    assert looked_at(run) == {"train": 40, "test": 12}


def test_more_than_there_are_is_refused_where_a_probe_looks_at_them(tmp_path: Path) -> None:
    words = ("data=disk", "data.grid=15", "optim.steps=1", "probing.examples=1000000")
    with pytest.raises(UserError, match="=1000000: there are 500 train examples; expected at most"):
        train(tmp_path, *words, "probe=[spectrum]")
    assert train(tmp_path, *words, "probe=[distance]").is_dir()
