"""`make small` goes through the experiments there are, not through a list of its own."""

from __future__ import annotations

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


def test_what_an_experiment_begins_with_is_made_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert small.main(["--dry-run", "--paper", "lazy"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "ntkexp train -m --with-parents +exp=lazy/waterbirds_kind scale=small" in lines
