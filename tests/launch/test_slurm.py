"""Sweeps through submitit, with its local executor in SLURM's place."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import TINY_DISK, Ntkexp, Start

pytest.importorskip("submitit", reason="needs the extra slurm: pip install 'ntkexp[slurm]'")

CLUSTER = ("launcher=slurm", "launcher.cluster=local", "launcher.minutes=5")


def states(top: Path) -> list[str]:
    found = [json.loads(file.read_text()) for file in top.glob("outputs/lazy/disk/*/status.json")]
    return sorted(status["state"] for status in found)


def test_jobs_of_a_cluster_end_in_the_same_store(
    inside: Ntkexp, start: Start, tmp_path: Path
) -> None:
    words = ("train", *TINY_DISK, "name=lazy/disk")
    assert inside(*words, "optim.lr=0.02").returncode == 0
    first = start(*words, "-m", "optim.lr=0.02,0.03,1e30", *CLUSTER).done()
    assert first.returncode == 1, first.stderr
    assert "submitted 2 jobs" in first.stdout
    for count in ("1 done already", "1 failed", "1 finished"):
        assert count in first.stdout
    assert "not finite at step" in first.stdout
    assert states(tmp_path) == ["failed"] + ["finished"] * 2
    again = inside(*words, "-m", "optim.lr=0.02,0.03", *CLUSTER)
    assert again.stdout.startswith("2 jobs: 2 done already")


@pytest.mark.on_demand
def test_a_preempted_job_comes_back_and_goes_on(tmp_path: Path) -> None:
    words = [*TINY_DISK, "optim.steps=1500", "checkpoint.every_seconds=1e6", *CLUSTER]
    process = subprocess.Popen(
        [sys.executable, "-m", "ntkexp", "train", "-m", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    )
    while not list(tmp_path.glob("outputs/disk/*/lock")) and process.poll() is None:
        time.sleep(0.01)
    run = next(tmp_path.glob("outputs/disk/*"))
    time.sleep(0.2)
    # What SLURM does some time before it takes the node away.
    os.kill(json.loads((run / "lock").read_text())["pid"], signal.SIGUSR2)
    told, _ = process.communicate()
    assert process.returncode == 0, told
    assert "1 finished" in told
    lives = json.loads((run / "provenance.json").read_text())["lives"]
    assert len(lives) == 2
    outputs = [file.read_text() for file in tmp_path.glob("outputs/.submitit/*/*_log.*")]
    assert any("resuming" in text for text in outputs)
