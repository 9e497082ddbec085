"""The protocol of all that the loop brings to its end: anything that advances step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ntkexp.probes import View

# Reads a file that was kept, as of the commit from which a work goes on.
Kept = Callable[[str], bytes]
# The rows of one table: columns by name, scalars or arrays of one length.
Written = tuple[str, Mapping[str, object]]


class Work(Protocol):
    """A training run, a computation in parts, or both.

    Where `advance` comes back changes no number: it may stop after any step, and what is written
    is the same. `state` holds tensors, numbers, strings, lists and mappings of them only; what is
    too large for every commit is kept as a file once, and its name in the state.
    """

    @property
    def step(self) -> int:
        """The number of steps that are made."""

    @property
    def last(self) -> int:
        """The step at which it is over at the latest."""

    # What probes may ask of it and its views; Probe names all there is.
    offers: frozenset[str]

    @property
    def over(self) -> bool:
        """True if there is no step left to make."""

    @property
    def figures(self) -> Mapping[str, float]:
        """The latest numbers, for whoever watches the progress."""

    def advance(self, to: int) -> str | None:
        """Make steps, to step `to` at most, and come back within a second or after one step.

        It stops at an event of its own numbers, such as a loss that falls below a threshold, and
        returns its name: a look is due there.
        """

    def looked_at(
        self, event: str | None, *, scheduled: bool
    ) -> AbstractContextManager[Sequence[View]]:
        """Surrounds a look, with one view of the work as it is now, or one for each network.

        A look off the schedule, at an event, shows only the networks that have the event. Rows that
        the work itself writes at every look (an evaluation) are among the next `rows`.
        """

    def rows(self) -> list[Written]:
        """The rows since last asked, in order."""

    def state(self) -> dict[str, Any]:
        """All that is needed to go on from here."""

    def restore(self, state: dict[str, Any], kept: Kept) -> None:
        """Take back what `state` gave; `kept` reads a file of `kept_files` by its name."""

    def kept_files(self) -> Mapping[str, bytes]:
        """Files to keep since last asked, each under a name of its own: they stay with the run."""

    def files(self) -> Mapping[str, bytes]:
        """Files to keep beside the tables when it is over, and at the steps of `keep.weights`."""
