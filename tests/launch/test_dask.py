"""Sweeps on a Dask cluster of two workers, any part of which is killed: the same bits."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ntkexp.scripts.tools.clusters import Cluster, children, cluster, until
from tests.conftest import TINY_DISK, Ntkexp, Start
from tests.environment import LOOPBACK, python_path
from tests.launch.test_kill_sweep import results

pytestmark = pytest.mark.slow
pytest.importorskip("distributed", reason="needs the extra dask: pip install 'ntkexp[dask]'")

SWEEP = (
    "train", "-m", *TINY_DISK, "optim.steps=400", "optim.batch_size=16", "seed=range(4)",
    "checkpoint.every_seconds=0.1", "launcher.jobs=1", "launcher.threads=1",
)  # fmt: skip
# Two machines in one: no lock of the one is seen by the other, and after three quiet seconds a run
# is taken over.
MACHINE = f"""
import errno, fcntl, os, runpy
runpy.run_path({str(LOOPBACK / "sitecustomize.py")!r})
from ntkexp.results import lock
def refused(*words):
    raise OSError(errno.ENOLCK, "no locks here")
fcntl.flock = refused
lock.kernel = lambda: os.environ["MACHINE"]
lock.SILENT_SECONDS, lock.TOUCH_SECONDS = 3.0, 0.2
"""


def dask(cluster: Cluster) -> tuple[str, ...]:
    return ("launcher=dask", f"launcher.address={cluster.file}")


def lives(top: Path) -> list[int]:
    """How many lives each run had."""
    files = top.glob("outputs/*/*/provenance.json")
    return sorted(len(json.loads(file.read_text())["lives"]) for file in files)


def at_work(cluster: Cluster, top: Path) -> tuple[int, int, int]:
    """The number of a worker whose own run has committed something, its slice's process, the
    run's."""
    found: list[tuple[int, int, int]] = []

    def look() -> bool:
        committed = {
            owner(file.parents[2]) for file in top.glob("outputs/*/*/unfinished/committed/*")
        }
        found[:] = [
            (number, part, run)
            for number, worker in enumerate(cluster.workers)
            for part in children(worker.pid)
            for run in children(part)
            if run in committed
        ]
        return bool(found)

    until(look)
    return found[0]


def owner(run: Path) -> int | None:
    """The process that works in a run's folder."""
    try:
        return int(json.loads((run / "lock").read_text())["pid"])
    except OSError:
        return None  # it has ended


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    from tests.forked import Forked

    top = tmp_path_factory.mktemp("undisturbed")
    done = Forked(SWEEP, top).done()
    assert done.returncode == 0, done.stderr
    return results(top)


def test_every_launcher_leaves_the_same_files(
    start: Start, tmp_path: Path, workers: Cluster, undisturbed: dict[str, bytes]
) -> None:
    pytest.importorskip("submitit", reason="needs the extra slurm: pip install 'ntkexp[slurm]'")
    slurm = ("launcher=slurm", "launcher.cluster=local", "launcher.minutes=5", "launcher.runs=2")
    for number, launcher in enumerate((slurm, dask(workers))):
        (top := tmp_path / str(number)).mkdir()
        done = start(*SWEEP, *launcher, cwd=top).done()
        assert done.returncode == 0, done.stdout + done.stderr
        assert "4 jobs: 4 finished" in done.stdout
        assert results(top) == undisturbed


def test_a_worker_is_killed(
    start: Start, tmp_path: Path, workers: Cluster, undisturbed: dict[str, bytes]
) -> None:
    sweep = start(*SWEEP, *dask(workers))
    worker, *_ = at_work(workers, tmp_path)
    workers.kill(worker)
    done = sweep.done()
    assert done.returncode == 0, done.stdout + done.stderr
    assert results(tmp_path) == undisturbed
    assert lives(tmp_path)[-1] == 2


def test_the_command_is_killed_and_given_again(
    start: Start, tmp_path: Path, workers: Cluster, undisturbed: dict[str, bytes]
) -> None:
    sweep = start(*SWEEP, *dask(workers))
    at_work(workers, tmp_path)
    sweep.kill()
    again = start(*SWEEP, *dask(workers)).done()
    assert again.returncode == 0, again.stdout + again.stderr
    assert results(tmp_path) == undisturbed
    assert lives(tmp_path) == [1] * 4  # what had begun went on


def test_the_scheduler_is_killed(
    start: Start, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    with cluster(tmp_path / "cluster") as first:
        sweep = start(*SWEEP, *dask(first))
        *_, run = at_work(first, tmp_path)
        first.scheduler.kill()
        told = sweep.done()
        assert told.returncode == 2
        assert "is gone; the same command goes on" in told.stderr
        for worker in first.workers:
            worker.wait(timeout=60)
        until(lambda: not Path(f"/proc/{run}").exists())
    with cluster(tmp_path / "another") as second:
        again = start(*SWEEP, *dask(second)).done()
    assert again.returncode == 0, again.stdout + again.stderr
    assert results(tmp_path) == undisturbed


def test_a_machine_is_stopped_for_longer_than_its_lock(
    start: Start, tmp_path: Path, undisturbed: dict[str, bytes]
) -> None:
    (machine := tmp_path / "machine").mkdir()
    (machine / "sitecustomize.py").write_text(MACHINE)
    path = f"{machine}:{python_path(os.environ['PYTHONPATH'])}"
    machines = tuple({"PYTHONPATH": path, "MACHINE": name} for name in ("one", "other"))
    with cluster(tmp_path / "cluster", machines, ttl="5s") as two:
        sweep = start(*SWEEP, *dask(two))
        worker, part, run = at_work(two, tmp_path)
        stopped = [run, part, two.workers[worker].pid]
        for process in stopped:
            os.kill(process, signal.SIGSTOP)
        done = sweep.done()
        for process in stopped:
            os.kill(process, signal.SIGCONT)
        until(lambda: not Path(f"/proc/{run}").exists())
    assert done.returncode == 0, done.stdout + done.stderr
    assert results(tmp_path) == undisturbed


def test_an_address_where_no_scheduler_is(inside: Ntkexp, tmp_path: Path) -> None:
    done = inside(*SWEEP, "launcher=dask", "launcher.address=tcp://127.0.0.1:9")
    assert done.returncode == 2
    assert "launcher.address=tcp://127.0.0.1:9: " in done.stderr
    assert not (tmp_path / "outputs").exists()
