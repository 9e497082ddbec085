"""Runs kept in the repository: whole where they can be, honest where they are not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ntkexp import results
from ntkexp.errors import UserError
from ntkexp.results import Run, Table
from ntkexp.results.commits import Commit
from ntkexp.results.reading import collect
from ntkexp.results.table import float64, int64
from ntkexp.scripts.tools.keeping import keep, keep_begun, size_bytes

STEPS = Table("steps", "one row a step", {"step": int64("x"), "loss": float64("x")})
COMPLEXITY = Table("complexity", "one row a step", {"step": int64("x"), "complexity": float64("x")})
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
            run.stage("weights.pt", b"heavy")
            run.finish()
    return root


def test_a_kept_run_reads_like_the_run_but_for_what_nothing_reads(
    runs: Path, tmp_path: Path
) -> None:
    (copy,) = keep(runs / "mlp_mnist", tmp_path / "reference")
    before, after = results.load(runs / "mlp_mnist"), results.load(copy)
    assert before.keys() - after.keys() == {"steps"}
    pd.testing.assert_frame_equal(before["complexity"], after["complexity"])
    assert not (copy / "weights.pt").exists()
    told = json.loads((copy / "thinned.json").read_text())
    assert told == {"steps": {"rule": "left out", "rows": [COUNT, 0]}}


def test_a_copy_may_have_some_tables_alone_and_says_which_were_left_out(
    runs: Path, tmp_path: Path
) -> None:
    place = tmp_path / "reference"
    (copy,) = keep(runs / "mlp_mnist", place)
    assert (copy / "complexity.parquet").exists()
    (copy,) = keep(runs / "mlp_mnist", place, ["steps"])
    assert [*results.load(copy)] == ["steps"]
    assert not (copy / "complexity.parquet").exists()
    assert set(json.loads((copy / "thinned.json").read_text())) == {"complexity"}
    with pytest.raises(UserError, match="no table evals; it has complexity, steps"):
        list(keep(runs / "mlp_mnist", tmp_path / "other", ["evals"]))
    assert not (tmp_path / "other").exists()


def test_thinning_keeps_both_ends_and_says_what_it_did(runs: Path, tmp_path: Path) -> None:
    (copy,) = keep(runs / "complexity_width", tmp_path / "reference")
    steps = results.load(copy)["complexity"]["step"]
    told = json.loads((copy / "thinned.json").read_text())["complexity"]
    assert (steps.min(), steps.max()) == (0, COUNT - 1)
    assert told["rows"] == [COUNT, len(steps)]
    assert len(steps) < COUNT / 10
    assert "10 % beyond" in told["rule"]


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


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """A run of two commits, and a part of a third that it did not live to commit."""
    folder = tmp_path / "outputs" / "vgg19_clean" / "4567"
    with Run(folder, [COMPLEXITY]) as run:
        run.begin("name: vgg19_clean\nseed: 0\n", {"argv": ["ntkexp", "train"]})
        for first in (0, 10):
            steps = np.arange(first, first + 10)
            run.add("complexity", {"step": steps, "complexity": steps / 3})
            run.commit(b"state")
        run.add("complexity", {"step": [20], "complexity": [0.0]})
        with pytest.MonkeyPatch.context() as broken, pytest.raises(OSError, match="no room"):
            broken.setattr(Commit, "text", _no_room)
            run.commit(b"state")
        run.write_status("interrupted")
    return folder


def _no_room(commit: Commit) -> bytes:
    raise OSError("no room")


def test_of_a_run_that_goes_on_the_committed_rows_are_kept_with_their_iteration(
    begun: Path, tmp_path: Path
) -> None:
    (copy,) = keep_begun(begun, tmp_path / "reference")
    assert pd.read_parquet(copy / "complexity.parquet")["step"].tolist() == list(range(20))
    assert json.loads((copy / "status.json").read_text())["kept_at"] == 19
    assert list(results.finished(tmp_path / "reference")) == []
    (record,) = collect([tmp_path / "reference"])
    assert (record.iteration, record.finished) == (19, False)
    assert "goes on, kept at 19" in " ".join(record.notes)


def test_a_copy_is_replaced_by_more_rows_only_and_by_the_finished_run(
    begun: Path, tmp_path: Path
) -> None:
    reference = tmp_path / "reference"
    (copy,) = keep_begun(begun, reference)
    assert list(keep_begun(begun, reference)) == []
    with Run(begun, [COMPLEXITY]) as run:
        assert run.resume() == b"state"
        run.add("complexity", {"step": [20], "complexity": [7.0]})
        run.finish()
    assert list(keep_begun(begun, reference)) == []
    assert list(keep(begun, reference)) == [copy]
    (record,) = collect([reference])
    assert (record.iteration, record.finished) == (20, True)
