"""What a sweep says at its end."""

from __future__ import annotations

from pathlib import Path

from omegaconf import OmegaConf

from ntkexp.compose.plan import Plan
from ntkexp.launch.job import Job, Outcome, summary


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
