"""`make small` goes through the experiments there are, not through a list of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ntkexp.experiments import experiments
from ntkexp.scripts import small

CONFIGS = Path(__file__).parents[2] / "configs" / "exp"


def test_every_training_experiment_is_made_small(capsys: pytest.CaptureFixture[str]) -> None:
    assert small.main(["--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    studies = {one.name for one in experiments() if one.command == "study"}
    files = {
        path.relative_to(CONFIGS).with_suffix("").as_posix() for path in CONFIGS.rglob("*.yaml")
    }
    assert {line.partition("+exp=")[2].split()[0] for line in lines} == files - studies
    assert "ntkexp train -m +exp=complexity_width scale=small" in lines
    assert "ntkexp train +exp=vgg19_clean scale=small" in lines


def test_it_ends_with_the_first_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[list[str]] = []

    def call(words: list[str]) -> int:
        called.append(words)
        return 0 if len(called) < 3 else 7

    monkeypatch.setattr(subprocess, "call", call)
    assert small.main(["--paper", "alignment"]) == 7
    assert len(called) == 3
    assert all(words[1:4] == ["-m", "ntkexp", "train"] for words in called)


def test_images_that_nothing_fetches_are_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    called: list[str] = []

    def call(words: list[str]) -> int:
        called.append(words[-2])
        return 0

    monkeypatch.setenv("NTKEXP_DATA", str(tmp_path))
    monkeypatch.setattr(subprocess, "call", call)
    assert small.main(["--paper", "lazy"]) == 0
    assert "+exp=lazy/spurious_mlp" in called and "+exp=lazy/celeba" not in called
    assert "left out, its images are not here: ntkexp train -m +exp=lazy/celeba" in (
        capsys.readouterr().out
    )


def test_what_an_experiment_begins_with_is_made_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert small.main(["--dry-run", "--paper", "lazy"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "ntkexp train -m --with-parents +exp=lazy/waterbirds_kind scale=small" in lines
