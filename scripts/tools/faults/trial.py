"""One trial: a command, its faults, the same command again until it is done, and the verdict."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ntkexp.scripts.tools.faults.lives import TRACEBACK, Ending, Life, Rule
from ntkexp.scripts.tools.faults.verdict import compare
from ntkexp.scripts.tools.faults.works import Reference

# How often somebody gives the same command again before they call it broken.
PATIENCE = 5


@dataclass
class Trial:
    reference: Reference
    # Numbers of calls, spread over those of an undisturbed life.
    spread: Iterator[int]
    top: Path
    rng: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    # The places where a fault met a call.
    met: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.work, self.home = self.reference.work, self.top / "home"
        self.outputs = self.home / "outputs"
        self._in_logs = 0

    def strike(self, action: str, value: int = 0, *, root: bool = False) -> Rule:
        """A fault at one call, the next of the spread."""
        at = next(self.spread)
        return Rule(action, at, at, value, root)

    def start(self, *rules: Rule, words: Sequence[str] = ()) -> Life:
        words = words or self.work.words
        self.notes.append(f"{' '.join(words[:2])} ... {words[-1]}: " + "; ".join(map(str, rules)))
        return Life(words, self.home, rules)

    def live(self, *rules: Rule, words: Sequence[str] = ()) -> Ending:
        return self.judge(self.start(*rules, words=words))

    def judge(self, life: Life) -> Ending:
        """The end of a life, which says what was wrong in few words and hangs never."""
        ending = life.end()
        hits = [call for call in ending.calls if call.hit]
        self.met.update(call.place for call in hits)
        self.counts["faults"] += bool(hits)
        said = (ending.err.strip() or ending.out.strip()).splitlines() or [""]
        self.notes.append(f"    ends with {ending.code}: {said[-1][:200]}")
        if ending.hung:
            self.count("hung", "no end within the time")
        texts = (path.read_text(errors="replace") for path in self.outputs.rglob("*.txt"))
        written = sum(text.count(TRACEBACK) for text in texts)
        if TRACEBACK in ending.out + ending.err or written > self._in_logs:
            self.count("traceback", ending.err[-2000:] or "in a log or traceback.txt")
        self._in_logs = written
        if 0 < ending.code < 128 and said == [""]:
            self.count("unclear", f"ends with {ending.code} and says nothing")
        return ending

    def until_done(self, words: Sequence[str] = ()) -> None:
        """Give the same command again, as often as somebody would, and hold what is left against
        what an undisturbed life leaves."""
        choices = [words] if words else self.work.ways
        for _ in range(PATIENCE):
            if self.live(words=self.rng.choice(choices)).code == 0:
                break
        else:
            self.count("stuck", f"not done after {PATIENCE} times")
        for column, note in compare(self.home, self.reference):
            self.count(column, note)

    def count(self, column: str, note: str) -> None:
        self.counts[column] += 1
        self.notes.append(f"{column.upper()} {note}")
