"""The price of a run is told once, when it is known, and of long runs alone."""

from __future__ import annotations

import pandas as pd

from ntkexp.training.price import Price
from ntkexp.training.schedule import Looks

LOOKS = Looks(steps=(0, 10, 100, 1000))


def measured(look: float, step: float) -> Price:
    price = Price()
    price.seconds = {"look": look, "step": step}
    price.looked({"spectrum": pd.DataFrame({"eigenvalue": range(50_000)})})
    return price


def test_it_tells_looks_and_steps_that_are_to_come() -> None:
    price = measured(look=60.0, step=2.0)
    # Three looks of a minute, and 990 steps of a fifth of a second.
    assert price.line(LOOKS, step=10, last=1000).startswith("about 5 minutes to go; tables of")
    assert price.line(LOOKS, step=10, last=1000) == ""


def test_it_is_silent_of_short_runs_and_before_it_knows() -> None:
    assert measured(look=2.0, step=2.0).line(LOOKS, step=10, last=100) == ""
    early = measured(look=1.0, step=1.0)
    assert early.line(LOOKS, step=1, last=1_000_000) == ""
    early.seconds["step"] = 9.0
    assert "hours to go" in early.line(LOOKS, step=1, last=1_000_000)
