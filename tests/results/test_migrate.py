"""Runs of ntkexp 0.1 come along: found by the command that made them, read as they were."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from ntkexp import results
from ntkexp.identity import identity_of_version_1, read_plain
from ntkexp.results.migrate import typed_in
from ntkexp.results.provenance.card import read_card
from ntkexp.results.status import read_status, status_text
from tests.conftest import TINY_DISK, Ntkexp

OLDER = ("probing", "batch_norm")  # an option that runs of the time did not have


def as_version_1(folder: Path) -> Path:
    """A finished run in the state in which ntkexp 0.1 left it."""
    config = read_plain((folder / "config.yaml").read_text())
    config.get(OLDER[0], {}).pop(OLDER[1], None)
    text = (folder / "config.yaml").read_text().replace("  batch_norm: eval\n", "")
    (folder / "config.yaml").write_text(text)
    (folder / "run.json").unlink()
    provenance = json.loads((folder / "provenance.json").read_text())
    provenance["lives"][-1]["argv"] = ["ntkexp", "train", "-m", *TINY_DISK, "seed=0,1"]
    (folder / "provenance.json").write_text(json.dumps(provenance))
    status = read_status(folder)
    assert status is not None
    del status["files"]
    (folder / "status.json").write_text(json.dumps(status))
    return folder.rename(folder.with_name(identity_of_version_1(config)))


@pytest.fixture
def old_runs(inside: Ntkexp, tmp_path: Path) -> list[Path]:
    assert inside("train", "-m", *TINY_DISK, "seed=0,1").returncode == 0
    assert inside("study", "+exp=rademacher", "study.seeds=2", "study.sizes=[2,3]").returncode == 0
    return [as_version_1(folder) for folder in list(results.finished(tmp_path / "outputs"))]


def test_migrated_runs_are_found_by_the_commands_that_made_them(
    old_runs: list[Path], inside: Ntkexp, tmp_path: Path
) -> None:
    before = results.load(tmp_path / "outputs" / "disk")
    migrated = inside("migrate")
    assert migrated.returncode == 0
    assert "3 migrated, 0 left" in migrated.stdout
    forecast = inside("train", "-m", *TINY_DISK, "seed=0,1", "--dry-run")
    assert "2 done already" in forecast.stdout
    after = results.load(tmp_path / "outputs" / "disk")
    for name, frame in before.items():
        pd.testing.assert_frame_equal(by_seed(frame), by_seed(after[name]), check_like=True)
    assert "0 migrated, 0 left" in inside("migrate").stdout
    assert old_runs


def by_seed(frame: pd.DataFrame) -> pd.DataFrame:
    """Runs are read in the order of their ids, which are others now."""
    ordered = frame.sort_values("seed", kind="stable").drop(columns="run")
    return ordered.reset_index(drop=True)


def test_a_migrated_run_says_what_was_typed_and_swept(
    old_runs: list[Path], inside: Ntkexp, tmp_path: Path
) -> None:
    inside("migrate")
    cards = [read_card(folder) for folder in sorted((tmp_path / "outputs" / "disk").iterdir())]
    for card in cards:
        assert card is not None
        assert card.axes == ("seed",)
        assert {"seed", "model.depth", "data.grid"} <= set(card.typed)
        assert card.experiment == "disk"
    assert old_runs


def test_a_run_that_failed_is_migrated_too(
    old_runs: list[Path], inside: Ntkexp, tmp_path: Path
) -> None:
    (old_runs[0] / "status.json").write_text(status_text({"state": "failed", "reason": "NaN"}))
    told = inside("migrate")
    assert f"{len(old_runs)} migrated" in told.stdout
    folders = (tmp_path / "outputs" / "disk").iterdir()
    assert "failed" in {(read_status(folder) or {})["state"] for folder in folders}


def test_a_folder_of_another_format_is_one_line(
    old_runs: list[Path], inside: Ntkexp, tmp_path: Path
) -> None:
    strange = old_runs[0].rename(old_runs[0].with_name("0123456789ab"))
    (tmp_path / "outputs" / "x").mkdir()
    shutil.copytree(old_runs[1], tmp_path / "outputs" / "x" / "damaged")
    (tmp_path / "outputs" / "x" / "damaged" / "status.json").write_text("")
    unfinished = tmp_path / "outputs" / "x" / "unfinished"
    shutil.copytree(old_runs[1], unfinished)
    (unfinished / "status.json").write_text(status_text({"state": "running"}))
    told = inside("migrate")
    assert told.returncode == 0
    assert "its name is not the hash of its config" in told.stdout
    assert "status.json is damaged" in told.stdout
    assert "was not finished" in told.stdout
    assert "2 migrated, 3 left as they are" in told.stdout
    assert strange.exists()


def test_a_kill_between_the_two_steps_of_a_migration_is_made_good(
    old_runs: list[Path], inside: Ntkexp, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr("ntkexp.results.migrate.write_text", killed)
        assert inside("migrate").returncode == 130
    told = inside("migrate")
    assert "3 migrated, 0 left" in told.stdout
    assert old_runs


def test_a_run_of_its_id_but_of_another_config_is_no_answer(inside: Ntkexp, tmp_path: Path) -> None:
    assert inside("train", *TINY_DISK).returncode == 0
    [folder] = results.finished(tmp_path / "outputs")
    card = read_card(folder)
    assert card is not None
    text = card.text().replace('"depth": 2', '"depth": 3')
    (folder / "run.json").write_text(text)
    status = read_status(folder)
    assert status is not None
    del status["files"]
    (folder / "status.json").write_text(status_text(status))
    refused = inside("train", *TINY_DISK)
    assert refused.returncode == 2
    assert "was made from another config (model differ)" in refused.stderr


def test_the_words_of_a_command_line() -> None:
    argv = ["/bin/ntkexp", "train", "-m", "+exp=x", "hydra/launcher=y", "a.b=1,2", "~c", "--rerun"]
    assert dict(typed_in(argv)) == {"a.b": "1,2"}
