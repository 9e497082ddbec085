"""One campaign: a work, its faults, the same command again until it is done, and the verdict."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ntkexp.scripts.tools.faults.lives import TRACEBACK, Ending, Life
from ntkexp.scripts.tools.faults.verdict import Verdict, compare, compare_loaded, files
from ntkexp.scripts.tools.faults.watch import Fault, Operation
from ntkexp.scripts.tools.faults.works import JOBS_OF_SWEEP, Reference, Work

# How often somebody gives the same command again before they call it broken.
PATIENCE = 6
# The stale time of another machine's lock in campaigns: what takes a quarter of an hour elsewhere.
SILENT_SECONDS = 0.6
ERRORS = ("ENOSPC", "EIO", "EROFS")
SIGNALS = ("SIGINT", "SIGTERM")


class Skipped(Exception):
    """This user or this machine does not allow the campaign."""


@dataclass
class Campaign:
    kind: str
    seed: str
    home: Path
    references: Mapping[str, Reference]
    images: tuple[Path, Path]
    counts: Counter[str] = field(default_factory=Counter)
    hits: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    put_there: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self.home.mkdir(parents=True)
        self.silent_seconds: float | None = None
        self._counted = 0
        self._lives: list[Life] = []

    @property
    def outputs(self) -> Path:
        return self.home / "outputs"

    def reference(self, work: Work, data: int = 0) -> Reference:
        return self.references[work.name if data == 0 else f"{work.name}, other data"]

    # Lives

    def life(self, words: tuple[str, ...], **how: Any) -> Life:
        how.setdefault("environment", self.environment(0))
        life = Life(words, self.home, silent_seconds=self.silent_seconds, **how)
        self._lives.append(life)
        return life

    def close(self) -> None:
        """End what a campaign that broke off may have left running, and forget its files."""
        for life in self._lives:
            life.kill()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        shutil.rmtree(self.home, ignore_errors=True)

    def environment(self, data: int) -> dict[str, str]:
        cache = self.images[0].with_name("cache")
        return {"NTKEXP_DATA": str(self.images[data]), "NTKEXP_CACHE": str(cache)}

    def live(self, words: tuple[str, ...], **how: Any) -> Ending:
        """One life to its end, judged by what it says and leaves in the logs."""
        life = self.life(words, **how)
        life.start()
        return self.judge(life)

    def judge(self, life: Life, *, strays: bool = True) -> Ending:
        ending = life.end(strays=strays)
        # Every job of a sweep has a line of its own, and the sweep another.
        jobs = JOBS_OF_SWEEP if "-m" in life.words else 1
        life.forget()
        for hit in ending.hits[:1]:
            self.hits[hit.where] += 1
            self.counts["faults"] += 1
        tracebacks = ending.tracebacks + self._tracebacks_in_logs()
        before = self.counts["tracebacks"]
        if ending.hung:
            self.count("hangs", f"no end within the time: {life.fault}")
        if tracebacks:
            self.counts["tracebacks"] = before + tracebacks
            where = ending.err.strip().splitlines() or ["in a log or traceback.txt"]
            self.notes.append(f"traceback ({life.fault}, code {ending.code}): {where[-1][:200]}")
        elif ending.code == 2 and len(ending.err.strip().splitlines()) > 2 + jobs:
            self.count("unclear", f"more than three lines a job: {ending.err.strip()[:400]}")
        return ending

    def _tracebacks_in_logs(self) -> int:
        """The number of new tracebacks in log.txt and traceback.txt of all runs."""
        count = 0
        # Another life may work on the run, and its folders come and go; os.walk lets them.
        for folder, _, names in os.walk(self.outputs):
            for name in names:
                if name.endswith(".txt"):
                    with suppress(FileNotFoundError):
                        text = Path(folder, name).read_text(errors="replace")
                        count += text.count(TRACEBACK)
        new, self._counted = max(0, count - self._counted), count
        return new

    def until_finished(self, work: Work, *, rerun: bool = False, **how: Any) -> bool:
        """Run the same command again, as often as somebody would."""
        ending = None
        for _ in range(PATIENCE):
            ending = self.live(self.words(work, rerun=rerun), **how)
            if ending.code == 0:
                return True
            if self.silent_seconds is not None:
                time.sleep(self.silent_seconds)
        assert ending is not None
        lines = (ending.err.strip() or ending.out.strip()).splitlines() or [""]
        self.count("stuck", f"still code {ending.code} after {PATIENCE} times: {lines[-1][:200]}")
        return False

    # Verdicts

    def count(self, column: str, note: str) -> None:
        self.counts[column] += 1
        self.notes.append(note)

    def compare(self, work: Work, data: int = 0) -> None:
        whole = self.reference(work, data).home / "outputs"
        self.take_in(compare(self.outputs, whole, frozenset(self.put_there)))

    def compare_loaded(self, work: Work) -> str:
        verdict, refusal = compare_loaded(self.outputs, self.reference(work).home / "outputs")
        self.take_in(verdict)
        return refusal

    def take_in(self, verdict: Verdict) -> None:
        for column in ("lost", "doubled", "differing", "left_over", "tracebacks"):
            self.counts[column] += getattr(verdict, column)
        self.notes += verdict.notes

    # Draws

    def pick_work(self, *names: str) -> Work:
        chosen = [r.work for name, r in self.references.items() if name == r.work.name]
        if names:
            chosen = [work for work in chosen if work.name in names]
        work = self.rng.choice(chosen)
        self.notes.append(f"work: {work.name}")
        return work

    def moment(self, done: list[Operation]) -> int:
        """An operation: any, or one of those that have a name of their own, equally often."""
        if self.rng.random() < 0.5:
            return self.rng.randint(1, len(done))
        named: dict[str, list[int]] = {}
        for operation in done:
            named.setdefault(operation.where, []).append(operation.number)
        return self.rng.choice(named[self.rng.choice(sorted(named))])

    def signals(self) -> tuple[str, ...]:
        return tuple(self.rng.choices(SIGNALS, k=self.rng.choice((1, 2, 2, 3))))

    def words(self, work: Work, *, rerun: bool = False) -> tuple[str, ...]:
        """The work's command at any pace: the run is the same."""
        return work.at(self.rng.choice(work.paces), rerun=rerun)

    def disturbed(
        self, work: Work, action: str, *, rerun: bool = False
    ) -> tuple[tuple[str, ...], Fault]:
        """A command, and a fault at an operation drawn among those of its undisturbed life."""
        words = self.words(work, rerun=rerun)
        at = self.moment(self.reference(work).operations[words])
        root = work.sweep and (action == "signals" or self.rng.random() < 0.3)
        fault = Fault(at, action, root=root)
        if action == "error":
            lasting = self.rng.random() < 0.5
            fault = replace(fault, error=self.rng.choice(ERRORS), lasting=lasting, root=False)
        if action == "signals":
            # What a signal asks for is a commit: half of the time it is killed in that.
            later = self.rng.choice((0, self.rng.randint(1, 40)))
            fault = replace(fault, signals=self.signals(), killed_after=later)
        self.notes.append(f"{fault}, {words[-1]}")
        return words, fault

    # What stands before a fault

    def start_finished(self, work: Work) -> None:
        """Put the results here as if the work had been done, undisturbed."""
        whole = self.reference(work).home / "outputs"
        shutil.copytree(whole, self.outputs, dirs_exist_ok=True)

    def start_interrupted(self, work: Work) -> bool:
        """Kill the work when there is something to go on from; True if it came to that."""
        words = work.at(work.paces[0])
        done = self.reference(work).operations[words]
        late = [o.number for o in done if o.number > len(done) // 4]
        ending = self.live(words, fault=Fault(self.rng.choice(late), "kill", root=work.sweep))
        return ending.code == -signal.SIGKILL

    def contents(self) -> Iterator[tuple[str, bytes]]:
        """Every file below the outputs, and what is in it."""
        for name in files(self.outputs):
            if (self.outputs / name).is_file():
                yield name, (self.outputs / name).read_bytes()

    def some_file(self, *patterns: str) -> Path | None:
        """A file of some run, alike likely whether there are many of its kind or one."""
        kinds: dict[str, list[Path]] = {}
        for name in files(self.outputs):
            path = self.outputs / name
            if path.is_file() and any(path.match(pattern) for pattern in patterns or ("*",)):
                kinds.setdefault(Operation(0, "", name).where, []).append(path)
        if not kinds:
            return None
        return self.rng.choice(sorted(kinds[self.rng.choice(sorted(kinds))]))
