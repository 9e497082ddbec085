"""Cores and GPUs are divided fairly."""

from __future__ import annotations

from itertools import product

import pytest

from ntkexp.launch import local as module
from ntkexp.launch.child import Slot
from ntkexp.launch.local import Local, slots
from ntkexp.machine import visible_gpus


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cores", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


def test_without_gpus_there_is_a_job_for_every_core() -> None:
    assert slots(Local(), 20, gpus=[]) == [Slot(1, None)] * 8


def test_few_jobs_have_several_threads_each() -> None:
    assert slots(Local(), 3, gpus=[]) == [Slot(2, None)] * 3
    assert slots(Local(jobs=2), 20, gpus=[]) == [Slot(4, None)] * 2


def test_every_gpu_has_a_job_and_more_jobs_take_turns() -> None:
    assert [slot.gpu for slot in slots(Local(), 20, gpus=["0", "3"])] == ["0", "3"]
    assert [slot.gpu for slot in slots(Local(jobs=3), 20, gpus=["0", "3"])] == [*"030"]


@pytest.mark.parametrize("said", ["", "1", "2", "7", "20"])
def test_threads_times_jobs_are_never_more_than_the_cores(
    monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", said)
    for jobs, threads, wanted in product([None, 1, 2, 3, 8, 30], [None, 1, 3, 5, 8, 20], [1, 2, 9]):
        room = slots(Local(jobs=jobs, threads=threads), wanted, gpus=[])
        assert 1 <= len(room) <= wanted
        assert sum(slot.threads for slot in room) <= 8


def test_an_exported_number_is_lowered_to_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert slots(Local(), 20, gpus=[]) == [Slot(1, None)] * 8
    assert slots(Local(), 4, gpus=[]) == [Slot(2, None)] * 4
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert slots(Local(), 2, gpus=[]) == [Slot(4, None)] * 2
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert slots(Local(), 2, gpus=[]) == [Slot(1, None)] * 2


def test_for_more_threads_a_job_there_are_fewer_jobs_at_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert slots(Local(threads=3), 20, gpus=[]) == [Slot(3, None)] * 2
    assert slots(Local(), 20, gpus=[], kept=[1, 4, 2]) == [Slot(4, None)] * 2
    assert capsys.readouterr().err == ""
    assert slots(Local(jobs=4, threads=3), 20, gpus=[]) == [Slot(3, None)] * 2
    assert capsys.readouterr().err == (
        "2 of launcher.jobs=4 at once: this process may use 8 cores, a job has 3 threads\n"
    )


def test_a_run_of_a_larger_machine_keeps_its_threads_and_runs_alone() -> None:
    assert slots(Local(), 20, gpus=[], kept=[16]) == [Slot(16, None)]


def test_gpus_have_the_jobs_that_were_asked_for() -> None:
    assert slots(Local(jobs=12), 20, gpus=["0"]) == [Slot(1, "0")] * 12


@pytest.mark.parametrize(
    ("said", "gpus"),
    [("0,2", ["0", "2"]), ("", []), ("-1", []), ("GPU-8f,GPU-1a", ["GPU-8f", "GPU-1a"])],
)
def test_only_visible_gpus_are_given_away(
    monkeypatch: pytest.MonkeyPatch, said: str, gpus: list[str]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", said)
    assert visible_gpus() == gpus
