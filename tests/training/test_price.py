"""The price of a run is told once, when it is known, and of long runs alone."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from ntkexp.compose.finalise import plan_of
from ntkexp.execution.run import run
from ntkexp.training import loop, price
from ntkexp.training.price import to_come
from ntkexp.training.schedule import Looks
from tests.tiny_runs import composed

LOOKS = Looks(steps=(0, 10, 100, 1000))
ROWS = {"spectrum": pd.DataFrame({"eigenvalue": range(50_000)})}


def told(look: float, steps: float, step: int, last: int) -> str:
    """What is said after one look and `step` steps, which took so many seconds."""
    seconds = {"look": look, "step": steps}
    return to_come(LOOKS, step, last, 1, seconds, ROWS)


def test_it_tells_looks_and_steps_that_are_to_come() -> None:
    # Three looks of a minute, and 990 steps of a fifth of a second.
    assert told(60.0, 2.0, 10, 1000).startswith("about 5 minutes to go; tables of")


def test_it_is_silent_of_short_runs() -> None:
    assert told(2.0, 2.0, 10, 100) == ""
    assert "hours to go" in told(1.0, 9.0, 1, 1_000_000)


@pytest.mark.parametrize(("known_after", "times"), [(0.0, 1), (1e9, 0)])
def test_a_run_is_told_its_price_once_it_is_known(
    known_after: float,
    times: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(loop, "KNOWN_AFTER_SECONDS", known_after)
    monkeypatch.setattr(price, "WORTH_A_LINE_SECONDS", 0.0)
    words = ["+exp=disk", "optim.steps=8", "probe=[]", "device=cpu", f"paths.outputs={tmp_path}"]
    assert run(plan_of(composed(words))) == 0
    assert capsys.readouterr().err.count(" to go; tables of ") == times
