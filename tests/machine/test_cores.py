"""The cores that this process may keep busy: what affinity and containers leave of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from ntkexp.machine import quota


def container(folder: Path, membership: str, files: Mapping[str, str]) -> float | None:
    (folder / "cgroup").write_text(membership)
    for name, text in files.items():
        file = folder / "mounted" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return quota(folder / "cgroup", folder / "mounted")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"job/cpu.max": "150000 100000\n"}, 1.5),
        ({"job/cpu.max": "max 100000\n"}, None),
        ({"job/cpu.max": "max 100000\n", "cpu.max": "200000 100000\n"}, 2.0),
        ({"job/cpu.max": "400000 100000\n", "cpu.max": "300000 100000\n"}, 3.0),
        # A container that sees the host's path, but its own root.
        ({"cpu.max": "50000 100000\n"}, 0.5),
        ({"unified/job/cpu.max": "100000 50000\n"}, 2.0),
        ({}, None),
    ],
)
def test_the_quota_of_cgroup_v2(
    tmp_path: Path, files: dict[str, str], expected: float | None
) -> None:
    assert container(tmp_path, "0::/job\n", files) == expected


@pytest.mark.parametrize(
    ("allowed", "expected"), [("150000\n", 1.5), ("-1\n", None), ("400000\n", 4.0)]
)
@pytest.mark.parametrize("controllers", ["cpu", "cpu,cpuacct"])
def test_the_quota_of_cgroup_v1(
    tmp_path: Path, controllers: str, allowed: str, expected: float | None
) -> None:
    membership = f"4:memory:/other\n3:cpuset:/\n2:{controllers}:/docker/a:b\n0::/\n"
    files = {"cpu.cfs_quota_us": allowed, "cpu.cfs_period_us": "100000\n"}
    inside = {f"{controllers}/docker/a:b/{name}": text for name, text in files.items()}
    assert container(tmp_path, membership, inside) == expected


def test_no_cgroups_no_quota(tmp_path: Path) -> None:
    assert quota(tmp_path / "absent", tmp_path) is None


def cores_told(prelude: str) -> int:
    source = f"import os\nfrom ntkexp import machine\n{prelude}\nprint(machine.cores())"
    done = subprocess.run([sys.executable, "-c", source], check=True, capture_output=True)
    return int(done.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="affinity is Linux's")
def test_cores_are_those_of_affinity_and_quota() -> None:
    first = min(os.sched_getaffinity(0))
    pinned = f"os.sched_setaffinity(0, {{{first}}})"
    assert cores_told(f"{pinned}; machine.quota = lambda: None") == 1
    assert cores_told("machine.quota = lambda: 1.9") == 1
    assert cores_told("machine.quota = lambda: 0.3") == 1
    there = len(os.sched_getaffinity(0))
    assert cores_told("machine.quota = lambda: 1000.0") == there
    assert cores_told("machine.quota = lambda: None") == there
