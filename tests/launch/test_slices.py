"""The length of slices, and what becomes of the runs whose workers are lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from omegaconf import OmegaConf

from ntkexp.compose.plan import Plan
from ntkexp.launch.dask import TRIES, Dask, Dispatch
from ntkexp.launch.job import Job, Outcome
from ntkexp.launch.slices import SliceLost, carry_out, packed, unpacked
from ntkexp.progress import Progress

CONFIG = OmegaConf.create({"launcher": {"retry_failed": False}, "device": "cpu", "progress": False})


@pytest.fixture
def dispatch() -> Dispatch:
    with Progress("sweep", 1, shown=False) as progress:
        made = Dispatch(Dask(), None, [], CONFIG, progress)
    made.room = 1
    return made


def told(dispatch: Dispatch, seconds: float, runs: int, start_seconds: float = 3.0) -> None:
    """So long took the runs of a slice."""
    dispatch.note(seconds, start_seconds, runs)


def test_the_first_slices_fill_the_machines(dispatch: Dispatch) -> None:
    dispatch.room = 8
    assert dispatch.length(1_000, workers=2) == 8
    assert dispatch.length(6, workers=2) == 3


def test_short_runs_go_a_minute_at_a_time_and_long_ones_alone(dispatch: Dispatch) -> None:
    told(dispatch, seconds=10, runs=1)
    assert dispatch.length(1_000, workers=2) == 6
    told(dispatch, seconds=1_000, runs=1)
    assert dispatch.length(1_000, workers=2) == 1


def test_a_slow_start_makes_longer_slices(dispatch: Dispatch) -> None:
    told(dispatch, seconds=10, runs=1, start_seconds=12)
    assert dispatch.length(1_000, workers=2) == 24


def test_every_worker_has_four_slices_or_more_of_what_is_left(dispatch: Dispatch) -> None:
    told(dispatch, seconds=10, runs=1)
    assert dispatch.length(32, workers=2) == 4
    assert dispatch.length(7, workers=2) == 1


def test_on_a_machine_of_eight_eight_long_runs_go_together(dispatch: Dispatch) -> None:
    dispatch.room = 8
    told(dispatch, seconds=7_200, runs=8)
    assert dispatch.length(1_000, workers=4) == 8


def test_a_run_whose_workers_are_lost_is_sent_again_so_often(dispatch: Dispatch) -> None:
    job = Job("seed=1", Plan(config=CONFIG, folder=Path("run")))
    for _ in range(TRIES):
        dispatch._send_again(job, "killed", finished=False)
        assert job.outcome is Outcome.waiting
    dispatch._send_again(job, "killed", finished=True)  # another run of its slice
    for _ in range(TRIES):
        dispatch._send_again(job, "killed", finished=False)
    assert job.outcome is Outcome.waiting
    dispatch._send_again(job, "killed", finished=False)
    assert job.outcome is Outcome.failed
    assert job.reason == f"sent {TRIES + 1} times in vain: killed"


@pytest.mark.slow
def test_an_error_of_the_slice_itself_is_told() -> None:
    with pytest.raises(SliceLost, match="IndexError"):
        unpacked(carry_out(packed([], CONFIG, 0)))
