"""Cores and GPUs are divided fairly."""

from __future__ import annotations

import pytest

from ntkexp.config import LauncherConfig
from ntkexp.launch import slots as module
from ntkexp.launch.slots import Slot, slots, visible_gpus


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cores_of_this_process", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


def test_without_gpus_there_is_a_job_for_every_core() -> None:
    assert slots(LauncherConfig(), 20, gpus=[]) == [Slot(1, None)] * 8


def test_few_jobs_have_several_threads_each() -> None:
    assert slots(LauncherConfig(), 3, gpus=[]) == [Slot(2, None)] * 3
    assert slots(LauncherConfig(jobs=2), 20, gpus=[]) == [Slot(4, None)] * 2


def test_every_gpu_has_a_job_and_more_jobs_take_turns() -> None:
    assert [slot.gpu for slot in slots(LauncherConfig(), 20, gpus=["0", "3"])] == ["0", "3"]
    assert [slot.gpu for slot in slots(LauncherConfig(jobs=3), 20, gpus=["0", "3"])] == [*"030"]


def test_threads_are_what_the_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert slots(LauncherConfig(), 2, gpus=[])[0].threads == 5
    assert slots(LauncherConfig(threads=3), 2, gpus=[])[0].threads == 3


@pytest.mark.parametrize(
    ("said", "gpus"),
    [("0,2", ["0", "2"]), ("", []), ("-1", []), ("GPU-8f,GPU-1a", ["GPU-8f", "GPU-1a"])],
)
def test_only_visible_gpus_are_given_away(
    monkeypatch: pytest.MonkeyPatch, said: str, gpus: list[str]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", said)
    assert visible_gpus() == gpus
