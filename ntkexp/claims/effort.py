"""The command that makes a missing run, and what it costs: "no runs" says what would change it.

A paper names the costs of its experiments in its `costs.py`, as far as they were measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from ntkexp.claims.horizon import Horizon
from ntkexp.experiments import MAIN, experiments
from ntkexp.papers import registry


class Cost(NamedTuple):
    """`words`: what the command needs beside its experiment for that cost. `reached`: whether it is
    known to come to the horizon; where it is not, `time` says why."""

    time: str
    words: str = ""
    reached: bool = True


# By experiment: the cost in words, or a function of recipe and horizon.
Costs = Mapping[str, str | Callable[[str, Horizon], Cost]]


def line(experiment: str) -> str:
    """The command that makes the runs of an experiment, with `-m` where it is a sweep."""
    lines = {declared.name: declared.line for declared in experiments()}
    return lines.get(experiment, f"ntkexp train +exp={experiment}")


def command(experiment: str, recipe: str, horizon: Horizon) -> str:
    """A command that leads to a claim's horizon, and its cost.

    >>> from ntkexp.claims.horizon import iteration
    >>> command("disk", "paper", iteration(2000))
    'ntkexp train +exp=disk  (a minute a seed)'
    """
    cost = _costs(_paper_of(experiment)).get(experiment, "not measured")
    effort = Cost(cost) if isinstance(cost, str) else cost(recipe, horizon)
    if not effort.reached:
        made = f"{experiment}, recipe={recipe}"
        return f"nothing is known to bring {made}, to {horizon.description}: {effort.time}"
    words = [line(experiment), *(["recipe=released"] if recipe == "released" else []), effort.words]
    return f"{' '.join(filter(None, words))}  ({effort.time})"


def duration(seconds: float) -> str:
    return f"{seconds / 3600:.2g} hours" if seconds >= 3600 else f"{seconds / 60:.0f} minutes"


def _paper_of(experiment: str) -> str:
    papers = {declared.name: declared.paper for declared in experiments()}
    return papers.get(experiment, experiment.partition("/")[0] if "/" in experiment else MAIN)


@cache
def _costs(paper: str) -> Costs:
    costs: dict[str, Any] = {}
    for module in registry.paper(paper).modules("costs"):
        costs |= module.COSTS
    return costs
