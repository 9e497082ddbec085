"""A search by Optuna: it optimises the number of a run, and goes on where it was cut off."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from ntkexp import results
from tests.conftest import TINY_DISK, Ntkexp, Start

optuna = pytest.importorskip("optuna")

METRIC = "objective_metric=evals.test.loss"
STORED = "hydra.sweeper.storage=sqlite:///searches/study.db"
SOLO = [word for word in TINY_DISK if not word.startswith("model.width")]
SEARCH = ("-m", *SOLO, "hydra/sweeper=search", METRIC)
SPACE = ("optim.lr=tag(log,interval(0.001,0.1))", "model.width=8,9")


def trials(home: Path) -> list[optuna.trial.FrozenTrial]:
    study = optuna.load_study(study_name="disk", storage=f"sqlite:///{home}/searches/study.db")
    found: list[optuna.trial.FrozenTrial] = study.trials
    return found


def test_a_search_finds_the_best_of_its_runs_and_counts_in_all(
    inside: Ntkexp, tmp_path: Path
) -> None:
    words = ("train", *SEARCH, *SPACE, STORED, "hydra.sweeper.seed=1")
    first = inside(*words, "hydra.sweeper.n_trials=2", "launcher.jobs=2")
    assert first.returncode == 0, first.stderr
    more = inside(*words, "hydra.sweeper.n_trials=3")
    assert "1 job: 1 finished" in more.stdout
    kept = {
        (run.config["optim.lr"], run.config["model.width"]): run.metric("evals.test.loss")
        for run in map(results.read, results.finished(tmp_path / "outputs"))
    }
    found = trials(tmp_path)
    assert len(found) == len(kept) == 3
    for trial in found:
        assert kept[trial.params["optim.lr"], int(trial.params["model.width"])] == trial.value
    head, best = more.stdout.splitlines()[-2:]
    assert head == "disk: 3 trials, 3 finished"
    assert best.startswith(f"best evals.test.loss = {min(kept.values()):.6g}: optim.lr=")
    done = inside(*words, "hydra.sweeper.n_trials=3")
    assert done.stdout.splitlines() == [head, best]


def test_a_trial_that_fails_is_no_number(inside: Ntkexp, tmp_path: Path) -> None:
    done = inside("train", *SEARCH, "optim.lr=1e29,1e30", STORED, "hydra.sweeper.n_trials=2")
    assert done.returncode == 1
    assert [(one.state.name, one.value) for one in trials(tmp_path)] == [("FAIL", None)] * 2
    assert done.stdout.splitlines()[-1] == "disk: 2 trials, 2 failed"
    stopped = inside("train", *SEARCH, "optim.lr=1e29,1e30", "--fail-fast")
    assert stopped.stdout.splitlines()[-1] == "disk: 1 trials, 1 failed"


def test_a_failure_of_an_earlier_call_does_not_end_a_search(inside: Ntkexp, tmp_path: Path) -> None:
    (tmp_path / "searches").mkdir()
    study = optuna.create_study(
        study_name="disk", storage=f"sqlite:///{tmp_path}/searches/study.db"
    )
    failed = optuna.trial.TrialState.FAIL
    study.add_trial(optuna.trial.create_trial(state=failed, user_attrs={"words": ["seed=1"]}))
    words = ("train", *SEARCH, *SPACE, STORED, "hydra.sweeper.n_trials=3", "--fail-fast")
    assert "disk: 3 trials, 2 finished, 1 failed" in inside(*words).stdout


def test_a_search_that_was_killed_goes_on_with_the_trials_it_had_begun(
    start: Start, tmp_path: Path
) -> None:
    words = [
        "train", *SEARCH, "optim.lr=interval(0.001,0.01)", "model.width=8", STORED,
        "optim.steps=400", "checkpoint.every_seconds=0", "hydra.sweeper.n_trials=3",
        "launcher.jobs=2",
    ]  # fmt: skip
    searching = start(*words)
    while len(begun(tmp_path)) < 2:
        assert searching.poll() is None, "it was to be killed on its way"
        time.sleep(0.02)
    folders = begun(tmp_path)
    searching.kill()
    searching.wait()
    chosen = [dict(one.params) for one in trials(tmp_path)]
    assert [one.state.name for one in trials(tmp_path)] == ["RUNNING"] * 2
    done = start(*words).done()
    assert done.returncode == 0, done.stderr
    found = trials(tmp_path)
    assert [one.state.name for one in found] == ["COMPLETE"] * 3
    assert [dict(one.params) for one in found[:2]] == chosen
    for folder in folders:
        lives = json.loads((folder / "provenance.json").read_text())["lives"]
        assert len(lives) == 2, "the run of a trial that was begun goes on, it does not begin anew"


def begun(home: Path) -> list[Path]:
    commits = home.glob("outputs/disk/*/unfinished/committed/*.json")
    return sorted({path.parents[2] for path in commits})


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "hydra/sweeper=search: has nothing to choose"),
        (
            (*SPACE, "hydra.sweeper.sampler=tep"),
            "hydra.sweeper.sampler=tep: Invalid value 'tep', expected one of",
        ),
        (
            (*SPACE, "hydra.sweeper.direction=up"),
            "hydra.sweeper.direction=up: Invalid value 'up', expected one of",
        ),
        ((*SPACE, "hydra.sweeper.storage=nowhere"), "hydra.sweeper.storage=nowhere: "),
        ((*SPACE, "hydra.sweeper.n_jobs=-1"), "hydra.sweeper.n_jobs=-1: expected 1 or more"),
        (("seed=range(5,5)",), "seed=range(5,5): has no values"),
        (("optim.lr=tag(log,interval(0,1))",), "optim.lr=tag(log,interval(0,1)): "),
    ],
    ids=str,
)
def test_bad_searches_are_one_line(
    inside: Ntkexp, tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    done = inside("train", *SEARCH, *words)
    assert done.returncode == 2
    assert done.stderr.startswith(f"ntkexp: {told}"), done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "outputs" / "disk").exists()


def test_a_value_that_is_refused_is_told_and_not_tried_again(
    inside: Ntkexp, tmp_path: Path
) -> None:
    words = ("train", *SEARCH, STORED, "hydra.sweeper.n_trials=1")
    refused = inside(*words, "optim.lr=-1,-2")
    assert refused.returncode == 2
    assert refused.stderr.startswith("ntkexp: optim.lr=-")
    assert [one.state.name for one in trials(tmp_path)] == ["FAIL"]
    assert inside(*words, "optim.lr=0.1,0.2").stdout == "disk: 1 trials, 1 failed\n"


def test_a_study_is_about_one_search(inside: Ntkexp) -> None:
    words = ("train", *SEARCH, *SPACE, STORED, "hydra.sweeper.n_trials=1")
    assert inside(*words).returncode == 0
    other = inside(*words, "seed=3")
    assert other.returncode == 2
    assert "hydra.sweeper.study_name=disk: was begun with other words" in other.stderr
