"""`scripts/reference.sh gpu` with a stand-in for the command: calls that end, and go on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import SCRIPTS

# Writes down the words it gets. `stop`: runs until SIGTERM; `fail`: fails; else it finishes.
STAND_IN = """#!/usr/bin/env bash
echo "$*" >> {folder}/asked
case "$(cat {folder}/how-"$(echo "$2" | sed 's/.*exp=//')" 2>/dev/null)" in
    stop)
        trap 'echo committed >> {folder}/asked; exit 143' TERM
        for i in $(seq 200); do sleep 0.1; done ;;
    fail) exit 1 ;;
esac
"""
# `no-device`: torch sees none.
PYTHON = """#!/usr/bin/env bash
case "$*" in
    -c*) [ ! -e {folder}/no-device ]; exit ;;
esac
echo "python $*" >> {folder}/asked
"""
JOBS = 16
# Its calls are by the clock.
pytestmark = pytest.mark.on_demand


class Machine:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in (("ntkexp", STAND_IN), ("python", PYTHON)):
            (folder / name).write_text(text.format(folder=folder))
            (folder / name).chmod(0o755)

    def how(self, experiment: str, way: str) -> None:
        (self.folder / f"how-{experiment}").write_text(way)

    def call(self, calls: int = 40, seconds: int = 60) -> subprocess.CompletedProcess[str]:
        (self.folder / "asked").write_text("")
        given = {"NTKEXP": f"{self.folder}/ntkexp", "PYTHON": f"{self.folder}/python",
                 "GPU_FOLDER": f"{self.folder}/gpu", "GPU_SECONDS": str(seconds), "GPU_LEAST": "1",
                 "GPU_CALLS": str(calls)}  # fmt: skip
        return subprocess.run(
            ["bash", SCRIPTS / "reference.sh", "gpu"],
            env=os.environ | given,
            capture_output=True,
            text=True,
        )

    @property
    def asked(self) -> list[str]:
        return (self.folder / "asked").read_text().splitlines()

    @property
    def trained(self) -> list[str]:
        return [line.split()[1] for line in self.asked if line.startswith("train")]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_call_stops_in_time_commits_and_the_next_one_goes_on(machine: Machine) -> None:
    machine.how("vgg19_noise50", "stop")
    first = machine.call(seconds=5)
    assert machine.trained == ["+exp=vgg19_clean", "+exp=vgg19_noise50"]
    assert "committed" in machine.asked
    assert "vgg19_noise50_released: goes on in the next call" in first.stdout
    assert "call 1 of 40" in first.stdout
    machine.how("vgg19_noise50", "")
    second = machine.call()
    assert machine.trained[0] == "+exp=vgg19_noise50"
    assert len(machine.trained) == JOBS - 1
    assert f"finished: {JOBS} of {JOBS}" in second.stdout


def test_tables_are_kept_after_every_call_and_the_device_is_tried_once(machine: Machine) -> None:
    keeping = "python scripts/tools/keep_reference.py --begun"
    machine.call()
    assert machine.asked[-1] == keeping
    assert any("pytest -q -m cuda" in line for line in machine.asked)
    assert any("bench/tangent.py --device cuda" in line for line in machine.asked)
    machine.call()
    assert machine.asked == [keeping]


def test_a_job_that_fails_stops_no_other_and_is_tried_again(machine: Machine) -> None:
    machine.how("vgg19_clean", "fail")
    done = machine.call()
    assert "vgg19_clean: failed (1)" in done.stderr
    assert len(machine.trained) == JOBS
    machine.how("vgg19_clean", "")
    machine.call()
    assert machine.trained == 2 * ["+exp=vgg19_clean"]


def test_without_a_device_no_call_is_spent(machine: Machine) -> None:
    (machine.folder / "no-device").touch()
    done = machine.call()
    assert done.returncode == 2
    assert "torch sees no CUDA device" in done.stderr
    assert machine.asked == []
    (machine.folder / "no-device").unlink()
    assert "call 1 of 40" in machine.call().stdout


def test_the_last_call_is_the_last(machine: Machine) -> None:
    machine.call(calls=1)
    done = machine.call(calls=1)
    assert done.returncode == 3
    assert "1 of 1 calls are used" in done.stderr
    assert machine.asked == []


def test_every_job_names_an_experiment_there_is(machine: Machine) -> None:
    machine.call()
    experiments = {path.stem for path in (SCRIPTS.parent / "configs" / "exp").glob("*.yaml")}
    assert {word.removeprefix("+exp=") for word in machine.trained} <= experiments
