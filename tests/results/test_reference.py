"""Runs kept in the repository: whole where they can be, honest where they are not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ntkexp import results
from ntkexp.results import Run, Table
from ntkexp.results.reference import keep, size_bytes, without_folders

STEPS = Table("steps", "one row a step", {"step": "int64", "loss": "float64"})
COMPLEXITY = Table("complexity", "one row a step", {"step": "int64", "complexity": "float64"})
COUNT = 5000


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    root = tmp_path / "outputs"
    for name in ("complexity_width", "mlp_mnist"):
        with Run(root / name / "0123", [STEPS, COMPLEXITY]) as run:
            run.begin(
                f"name: {name}\nseed: 0\npaths: {{outputs: {root}}}\n",
                {"argv": [f"{root}/bin/ntkexp", "train", f"paths.outputs={root}"], "host": "here"},
            )
            steps = np.arange(COUNT)
            run.add("steps", {"step": steps, "loss": 1.0 / (1 + steps)})
            run.add("complexity", {"step": steps, "complexity": steps.astype(float)})
            run.publish("weights.pt", lambda path: path.write_bytes(b"heavy"))  # type: ignore[func-returns-value]
            run.finish()
    return root


def test_a_kept_run_reads_like_the_run_itself(runs: Path, tmp_path: Path) -> None:
    (copy,) = keep(runs / "mlp_mnist", tmp_path / "reference")
    before, after = results.load(runs / "mlp_mnist"), results.load(copy)
    assert before.keys() == after.keys()
    for name, frame in before.items():
        pd.testing.assert_frame_equal(frame, after[name])
    assert not (copy / "weights.pt").exists()
    assert not (copy / "thinned.json").exists()


def test_thinning_keeps_both_ends_and_says_what_it_did(runs: Path, tmp_path: Path) -> None:
    (copy,) = keep(runs / "complexity_width", tmp_path / "reference")
    steps = results.load(copy)["complexity"]["step"]
    told = json.loads((copy / "thinned.json").read_text())["complexity"]
    assert (steps.min(), steps.max()) == (0, COUNT - 1)
    assert told["rows"] == [COUNT, len(steps)]
    assert len(steps) < COUNT / 10
    assert "log-spaced" in told["rule"]


def test_nothing_names_the_machine_that_made_it(runs: Path, tmp_path: Path) -> None:
    for copy in keep(runs, tmp_path / "reference"):
        for name in ("config.yaml", "provenance.json"):
            text = (copy / name).read_text()
            assert str(tmp_path) not in text
            assert "host" not in text
        argv = json.loads((copy / "provenance.json").read_text())["lives"][0]["argv"]
        assert argv == ["ntkexp", "train", "paths.outputs=outputs"]


def test_keeping_twice_changes_nothing(runs: Path, tmp_path: Path) -> None:
    reference = tmp_path / "reference"
    list(keep(runs, reference))
    before = {file: file.read_bytes() for file in reference.rglob("*") if file.is_file()}
    list(keep(runs, reference))
    assert before == {file: file.read_bytes() for file in reference.rglob("*") if file.is_file()}
    assert list(keep(reference, reference)) == []
    assert size_bytes(reference) == sum(map(len, before.values()))


def test_other_slashes_stay() -> None:
    assert without_folders("a/b and https://x.org/y and +exp=disk") == (
        "a/b and https://x.org/y and +exp=disk"
    )
