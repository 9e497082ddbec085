"""The loop that every run goes through: look, advance, commit; and how it goes on after a kill."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import pandas as pd
import torch

from ntkexp.checkpoint import npy, on_device, restored, saved
from ntkexp.errors import Interrupted
from ntkexp.probes import Probe, View
from ntkexp.progress import Listener, Progress, reporting_to
from ntkexp.results import Run
from ntkexp.training.prepared import CPU
from ntkexp.training.price import KNOWN_AFTER_SECONDS, to_come
from ntkexp.training.schedule import Looks, listed
from ntkexp.training.work import Work, Written

StopAsked = Callable[[], bool]
# From commit to commit: at least and at most, and between them a share of the run's age. A week is
# some 2,000 commits.
COMMIT_SECONDS, COMMIT_SHARE = (60.0, 600.0), 0.002


class Loop:
    """Advances `work` to its end and writes its rows, files and commits to `run`.

    `probes` has the probes for each of the work's views. At the steps `keep_at` the work's files
    are kept. `after_commit` is called after every commit; the end of a run is then a commit, too.
    `keep_work` names a file for all that a longer run needs to go on (execution/going_on.py).
    `began_at` is when the first life of the run did. The state of probes is restored on `device`.
    """

    def __init__(
        self,
        work: Work,
        run: Run,
        *,
        looks: Looks,
        probes: Sequence[Mapping[str, Probe]] = (),
        commit_every_seconds: float | None = None,
        began_at: float | None = None,
        keep_at: Sequence[int] = (),
        device: torch.device = CPU,
        label: str = "training",
        shown: bool = False,
        after_commit: Callable[[], None] | None = None,
        keep_work: str = "",
    ) -> None:
        self.work, self.run, self.looks, self.probes = work, run, looks, probes
        self.commit_every_seconds = commit_every_seconds
        self.began_at = time.time() if began_at is None else began_at
        self.label, self.shown, self.after_commit = label, shown, after_commit
        self.keeps, self.device = listed(keep_at), device
        self.keep_work = keep_work
        self.looked, self.kept = -1, -1
        # For the price of what is to come, which is told once.
        self.seconds = {"look": 0.0, "step": 0.0}
        self.looks_made, self.told = 0, not shown
        self.rows_of_first_look: Mapping[str, pd.DataFrame] = {}
        self._committed_at = time.monotonic()
        self._progress = Progress(label, 0, shown=False)

    def go(self, stop_asked: StopAsked) -> None:
        """Go on from wherever the work is to its end."""
        with Progress(
            self.label, self.work.last, start=self.work.step, shown=self.shown
        ) as self._progress:
            try:
                self._go(stop_asked)
            except Interrupted:
                self.commit()
                raise
            finally:
                # Also of a run that diverges, all rows until then.
                self._take_in()
        if self.after_commit is not None:
            # The last rows, for `after_commit`.
            self.commit()
        for name, content in self.work.files().items():
            self.run.stage(name, content)

    def _go(self, stop_asked: StopAsked) -> None:
        event = None
        while True:
            if self.keep_work and self.work.over and event is None and self.looked < self.work.step:
                self._keep_work()
            if (due := self._look_is_due()) or event is not None:
                with self._timed("look"):
                    self.look(event, scheduled=due)
                if not self.looks_made and not self.told:
                    self.rows_of_first_look = self.run.pending()
                self.looks_made += 1
            self._keep_files()
            if self.work.over:
                break
            if stop_asked():
                raise Interrupted
            if time.monotonic() - self._committed_at >= self._seconds_between_commits():
                self.commit()
            with self._timed("step"):
                event = self._advance(stop_asked)
            self._tell_price()

    def _seconds_between_commits(self) -> float:
        if self.commit_every_seconds is not None:
            return self.commit_every_seconds
        least, most = COMMIT_SECONDS
        return min(max(least, COMMIT_SHARE * (time.time() - self.began_at)), most)

    @contextmanager
    def _timed(self, activity: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.seconds[activity] += time.monotonic() - began

    def _tell_price(self) -> None:
        """Say once, when it is known, about how long the rest takes."""
        known = self.looks_made and sum(self.seconds.values()) >= KNOWN_AFTER_SECONDS
        if known and not self.told:
            self.told = True
            so_far = self.looks_made, self.seconds, self.rows_of_first_look
            self._progress.say(to_come(self.looks, self.work.step, self.work.last, *so_far))

    def _look_is_due(self) -> bool:
        step = self.work.step
        return step > self.looked and (self.looks.due(step) or self.work.over)

    def _advance(self, stop_asked: StopAsked) -> str | None:
        before = self.work.step
        # A long step that tells of its progress stops there. Nowhere else, or an event might be
        # committed without its look.
        with reporting_to(_stopping(stop_asked)):
            stops = (self.looks.after(before), self.keeps.after(before), self.work.last)
            event = self.work.advance(int(min(stops)))
        self._take_in()
        self._progress.advance(self.work.step - before, **self.work.figures)
        return event

    def look(self, event: str | None, *, scheduled: bool) -> None:
        """Have the probes look at the work as it is now."""
        self._progress.doing("evaluation")
        with self.work.looked_at(event, scheduled=scheduled) as views:
            self._take_in()
            written: list[Written] = []
            arrays: dict[str, bytes] = {}
            for view in views:
                for name, probe in self.probes[view.member].items():
                    self._progress.doing(name)
                    for part, values in probe.measure(view).items():
                        if isinstance(values, np.ndarray):
                            arrays[self._file_of(probe, part, view)] = npy(values)
                        else:
                            written.append((part, {**view.columns, "step": view.step, **values}))
        # All at once: a look that is interrupted leaves nothing.
        for table, columns in written:
            self.run.add(table, columns)
        for file, content in arrays.items():
            self.run.keep(file, content)
        self._progress.doing("")
        # An evaluation may have found the work over: then this was the last look.
        if scheduled or self.work.over:
            self.looked = self.work.step

    def _file_of(self, probe: Probe, array: str, view: View) -> str:
        """The name of an array's file; with its member's number, where there are many."""
        if array not in {declared.name for declared in probe.arrays}:
            raise ValueError(f"probe {probe.name}: {array} is not among its arrays")
        member = f"{view.member}." if view.columns else ""
        return f"{member}{array}.{view.step}.npy"

    def _keep_files(self) -> None:
        """Keep the work's files as they are at this step, if that was asked for."""
        step = self.work.step
        if step > self.kept and self.keeps.due(step):
            for name, content in self.work.files().items():
                stem, _, ending = name.rpartition(".")
                self.run.keep(f"{stem}.{step}.{ending}", content)
            self.kept = step

    def _take_in(self) -> None:
        """Hand the store the rows and files that the work has made since last asked."""
        for name, content in self.work.kept_files().items():
            self.run.keep(name, content)
        for table, columns in self.work.rows():
            self.run.add(table, columns)

    def _keep_work(self) -> None:
        """Keep the work as it is before the last look, with the rows and files until then."""
        self.commit()
        content = {"step": self.work.step, "state": self._state(), **self.run.so_far()}
        self.run.stage(self.keep_work, saved(content))

    def commit(self) -> None:
        """Write everything down: a life that ends now goes on from here."""
        state = self._state()
        # Asking for the state may have brought rows.
        self._take_in()
        self.run.commit(saved(state))
        if self.after_commit is not None:
            self.after_commit()
        self._committed_at = time.monotonic()

    def _state(self) -> dict[str, object]:
        return {
            "work": self.work.state(),
            "looked": self.looked,
            "kept": self.kept,
            "probes": [
                {name: probe.state() for name, probe in probes.items()} for probes in self.probes
            ],
        }

    def restore(self, checkpoint: bytes) -> None:
        """Go on from what a commit wrote."""
        state = restored(checkpoint)
        self.work.restore(state["work"], self.run.read_kept)
        self.looked, self.kept = state["looked"], state.get("kept", -1)
        self.told = True  # in an earlier life
        for probes, states in zip(self.probes, state["probes"], strict=True):
            for name, probe in probes.items():
                probe.restore(on_device(states[name], self.device))


def _stopping(stop_asked: StopAsked) -> Listener:
    def listen(task: Progress) -> None:
        if stop_asked():
            raise Interrupted

    return listen
