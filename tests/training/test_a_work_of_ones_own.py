"""Two players, with two members, on data from another run: through the one loop like any run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import Ntkexp
from tests.forked import killed_until_done

GAME = (
    "study=tests.training.made_players.TwoPlayers",
    "probe=[tests.training.made_players.Norms]",
    "probing.spacing=linear",
    "probing.every=10",
    "keep.weights=[20]",
    "study.rounds=60",
    "name=game",
    "progress=false",
    "checkpoint.every_seconds=0",
)
MEMBERS = "members={study.seed: [1, 2]}"


@pytest.fixture
def draws(inside: Ntkexp, tmp_path: Path) -> str:
    """The word that names the run whose array is played on."""
    assert inside("study", "study=tests.made_studies.Draws", "name=draws").returncode == 0
    (folder,) = (tmp_path / "outputs" / "draws").iterdir()
    return f"study.x.run={folder.relative_to(tmp_path)}"


def the_run(top: Path) -> Path:
    (found,) = (top / "outputs" / "game").iterdir()
    return found


def test_members_are_what_each_would_be_alone(inside: Ntkexp, draws: str, tmp_path: Path) -> None:
    done = inside("study", *GAME, draws, MEMBERS)
    assert done.returncode == 0, done.stderr
    run = the_run(tmp_path)
    both = {name: pd.read_parquet(run / f"{name}.parquet") for name in ("game", "norms")}
    assert {file.name for file in run.glob("*.pt")} == {"players.pt", "players.20.pt"}
    for seed in (1, 2):
        (tmp_path / f"alone{seed}").mkdir()
        words = [f"study.seed={seed}", f"paths.outputs={tmp_path}/alone{seed}/outputs"]
        assert inside("study", *GAME, draws, *words).returncode == 0
        alone = the_run(tmp_path / f"alone{seed}")
        for name, found in both.items():
            own = found[found["study.seed"] == seed].drop(columns="study.seed")
            pd.testing.assert_frame_equal(
                own.reset_index(drop=True), pd.read_parquet(alone / f"{name}.parquet")
            )


def test_it_is_killed_and_goes_on(inside: Ntkexp, draws: str, tmp_path: Path) -> None:
    inside("study", *GAME, draws, MEMBERS)
    whole = {file.name: file.read_bytes() for file in the_run(tmp_path).iterdir()}
    outputs = tmp_path / "killed" / "outputs"
    words = [*GAME, draws, MEMBERS, f"paths.outputs={outputs}"]
    assert killed_until_done(["study", *words], tmp_path, seed=0, longest=0.5) >= 2
    again = the_run(outputs.parent)
    for name in whole:
        if name.endswith((".parquet", ".pt")):
            assert (again / name).read_bytes() == whole[name], name


def test_a_probe_that_asks_for_more_is_refused(inside: Ntkexp, draws: str, tmp_path: Path) -> None:
    refused = inside("study", *GAME, draws, "probe=[spectrum]")
    assert refused.returncode == 2
    assert "probe.spectrum: looks at kernel; there is network to see" in refused.stderr
    assert not (tmp_path / "outputs" / "game").exists()
