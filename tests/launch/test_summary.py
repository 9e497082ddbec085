"""What a sweep says at its end."""

from __future__ import annotations

from pathlib import Path

from omegaconf import OmegaConf

from ntkexp.compose.plan import Plan
from ntkexp.launch.job import Job, Outcome, set_outcome, summary


def test_a_job_that_failed_has_one_line_however_long_its_reason() -> None:
    jobs = [
        Job(f"seed={seed}", Plan(config=OmegaConf.create(), folder=Path(f"outputs/{seed}")))
        for seed in range(3)
    ]
    jobs[0].outcome = Outcome.finished
    jobs[1].outcome = Outcome.already
    jobs[2].fail("no images found\n  1. this way\n  2. that way", Path("outputs/2/log.txt"))
    assert summary(jobs).splitlines() == [
        "3 jobs: 1 finished, 1 done already, 1 failed",
        "  seed=2  failed  no images found  outputs/2/log.txt",
    ]


def test_jobs_that_were_not_begun_are_counted_and_have_no_line() -> None:
    """A sweep of thousands that was told to stop."""
    jobs = [
        Job(f"seed={seed}", Plan(config=OmegaConf.create(), folder=Path(f"outputs/{seed}")))
        for seed in range(1000)
    ]
    jobs[0].outcome = Outcome.interrupted
    assert summary(jobs).splitlines() == [
        "1000 jobs: 1 interrupted, 999 not started",
        "  seed=0  interrupted    outputs/0",
    ]


def test_a_run_that_another_sweep_is_doing_again_was_finished_all_the_same(tmp_path: Path) -> None:
    """The other has thrown its status away, and has none yet."""
    job = Job("seed=1", Plan(config=OmegaConf.create({"rerun": True}), folder=tmp_path))
    set_outcome(job, 0, "", stopping=False)
    assert job.outcome is Outcome.finished
