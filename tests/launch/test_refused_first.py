"""A bad job of a sweep is refused before the first one starts, and by --dry-run too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import TINY_DISK, Ntkexp

PARENT = "weights={run: disk, set: {optim.steps: 2, probe: [], model: '${model}', data: '${data}'}}"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["seed=5,6", "objective_metric=evals.nope.loss"], "no row of evals has nope"),
        (["evaluate.metrics=[mean_margin],[foo]", "--dry-run"], "evaluate.metrics=foo"),
        (["members={seed: [0,1]},{model.width: [1,2]}"], "members.model.width"),
        (["paths.outputs=out2,/proc/x"], "cannot write /proc/x"),
        (["seed=5,6", PARENT], "--with-parents"),
    ],
)
def test_a_bad_job_is_refused_before_the_first_one(
    inside: Ntkexp, tmp_path: Path, words: list[str], told: str
) -> None:
    refused = inside("train", "-m", *TINY_DISK, "name=child", *words)
    assert refused.returncode == 2, refused.stdout
    assert told in refused.stderr
    assert refused.stdout == ""
    assert not list(tmp_path.iterdir())


def test_a_dry_run_is_refused_where_the_command_is(inside: Ntkexp, tmp_path: Path) -> None:
    words = ("train", *TINY_DISK, "seed=1,2")
    told = inside(*words)
    assert told.returncode == 2
    assert inside(*words, "--dry-run").stderr == told.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("flag", ["--dry-run", "launcher.dry_run=true"])
def test_a_dry_run_without_m_is_about_one_run(flag: str, inside: Ntkexp) -> None:
    planned = inside("study", "+exp=feature_scaling", flag)
    swept = inside("study", "-m", "+exp=feature_scaling", "--dry-run")
    assert planned.stdout.startswith("1 job: 1 to run"), planned.stderr
    assert not swept.stdout.startswith("1 job:"), swept.stderr


def test_a_dry_run_lists_what_would_be_made_first(inside: Ntkexp, tmp_path: Path) -> None:
    words = ("train", *TINY_DISK, "name=child", PARENT, "--with-parents", "--dry-run")
    planned = inside(*words)
    assert planned.returncode == 0, planned.stderr
    first, parent, own, _ = planned.stdout.splitlines()
    assert (first, own) == ("needed first: 1 job: 1 to run", "1 job: 1 to run")
    assert "outputs/disk/" in parent
    assert not list(tmp_path.iterdir())


def test_jobs_that_are_one_run_are_named(inside: Ntkexp) -> None:
    done = inside("train", "-m", *TINY_DISK, "optim.steps=2", "checkpoint.every_seconds=1,2")
    line, summary = done.stdout.splitlines()
    assert line.startswith("checkpoint.every_seconds=1, checkpoint.every_seconds=2: one run")
    assert summary == "1 job: 1 finished"


def test_every_job_of_a_sweep_tells_its_number_done_before_or_not(inside: Ntkexp) -> None:
    words = ("train", *TINY_DISK, "optim.steps=2", "objective_metric=evals.test.loss")
    numbers = [inside(*words, f"seed={seed}").stdout.splitlines()[-1] for seed in (5, 6)]
    told = inside(*words, "-m", "seed=5,6,7").stdout.splitlines()
    assert told[1:3] == [f"seed={5 + i}  {number}" for i, number in enumerate(numbers)]
    assert told[3].startswith("seed=7  evals.test.loss = ")
