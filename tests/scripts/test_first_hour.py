"""`scripts/first_hour.sh` without a GPU: its commands are commands."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.conftest import SCRIPTS, Ntkexp
from tests.docs import spoken


def first_hour(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", SCRIPTS / "first_hour.sh", *words],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.on_demand
def test_its_plan_names_for_each_step_what_must_come_out_and_its_runs_can_be_composed(
    inside: Ntkexp, tmp_path: Path
) -> None:
    """The stand-in writes down the words it gets."""
    stand_in = tmp_path / "ntkexp"
    stand_in.write_text(f'#!/usr/bin/env bash\nprintf "%q " "$@" >> {tmp_path}/asked\n'
                        f"echo >> {tmp_path}/asked\n")  # fmt: skip
    stand_in.chmod(0o755)
    done = first_hour("plan", NTKEXP=str(stand_in))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n== ") == done.stdout.count("\n   must: ") >= 15
    asked = (tmp_path / "asked").read_text().splitlines()
    assert len(asked) >= 10
    # From outputs reference.sh would keep the runs; a route is that of a linearised network.
    assert "paths.outputs=first_hour/study" in done.stdout
    assert any("transform=linearise" in line for line in asked)
    for line in asked:
        spoken.check(f"ntkexp {shlex.join(shlex.split(line))}", inside)
