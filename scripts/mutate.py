"""Changes one token of the code at random and asks the tests of that room whether they notice.

    python scripts/mutate.py results                  150 changes, those of seed 0
    python scripts/mutate.py theory --changes 40 --seed 3
    python scripts/mutate.py results --only 17        one change again, with what the tests said

A room is a few files of the package and the tests that are about them alone. Each change is made in
a copy of the tree, never in the tree itself: an operator, a comparison, a number, a word of the
language, a call that is left out. The tests run once unchanged, to see which of them come to which
lines (mutations/reach.py); tests marked slow are left out. Then a process that has everything but
`ntkexp` imported is forked for each change, asks the tests that come to it, the quickest first, and
stops at the first that fails; one that takes five times as long as they do unchanged counts as
caught. What is known is kept, so a run that was stopped goes on where it was. Survivors are listed
with their lines.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from ntkexp.scripts.mutations.asking import Answer, Copy, preload
from ntkexp.scripts.mutations.changes import ROOMS, TREE, Change, drawn
from ntkexp.scripts.mutations.reach import Reach


def run(options: argparse.Namespace) -> int:
    changes = drawn(options.room, options.changes, options.seed)
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        copy = Copy(Path(folder).resolve(), options.room)
        known = Known(options.state, copy, options.seconds)
        began = time.monotonic()
        reach = known.reach()
        print(f"{len(reach.seconds)} tests, {time.monotonic() - began:.0f} seconds", flush=True)
        outcomes = []
        for number, change in enumerate(changes):
            if options.only is not None and number != options.only:
                continue
            # The copy's: somebody may work on the tree meanwhile.
            text = (copy.folder / change.file).read_text(encoding="utf-8")
            outcome = known.outcome(change)
            if options.only is not None or outcome is None:
                tests = reach.tests_for(change, text, options.seconds)
                answer = copy.ask(change, tests, sum(reach.seconds[test] for test in tests))
                copy.expect_alone(answer.by, reach.seconds.get(answer.by, 0.0))
                known.keep(change, answer)
                outcome = answer.outcome
            outcomes.append(outcome)
            if outcome == "survived" or options.only is not None:
                print(f"{number} {outcome}: {change.described(text)}", flush=True)
            if options.only is not None:
                print(answer.words)
    caught = sum(outcome != "survived" for outcome in outcomes)
    seconds = time.monotonic() - began
    print(f"{options.room}: {caught} of {len(outcomes)} changes caught, {seconds:.0f} seconds")
    return 0 if caught >= 0.95 * len(outcomes) else 1


class Known:
    """What earlier runs of this script saw, as long as what they saw it of is what it was.

    A change that was caught stays so while the package and the file of the test that caught it are
    the same; one that survived, while all tests of the room are.
    """

    def __init__(self, folder: Path, copy: Copy, seconds: float) -> None:
        self.folder, self.copy, self.seconds = folder, copy, seconds
        folder.mkdir(parents=True, exist_ok=True)
        self._package = _hash(_contents(copy.folder, ("ntkexp", "tests/conftest.py")))
        self._tests = _hash(_contents(copy.folder, copy.tests))

    def reach(self) -> Reach:
        path = self.folder / f"reach-{_hash([self.copy.room, self._package, self._tests])}.json"
        if path.exists():
            return Reach(**json.loads(path.read_text(encoding="utf-8")))
        patterns = ROOMS[self.copy.room][0]
        files = [str(file.relative_to(TREE)) for one in patterns for file in TREE.glob(one)]
        reach = self.copy.reach(files)
        path.write_text(json.dumps(asdict(reach)), encoding="utf-8")
        return reach

    def outcome(self, change: Change) -> str | None:
        path = self._path(change)
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        same = kept and kept["tests"] == self._by(kept["by"])
        if same and kept["outcome"] == "survived":
            same = kept.get("seconds", math.inf) >= self.seconds
        return str(kept["outcome"]) if same else None

    def keep(self, change: Change, answer: Answer) -> None:
        kept = {"outcome": answer.outcome, "by": answer.by, "tests": self._by(answer.by)}
        kept |= {"seconds": self.seconds}
        text = json.dumps(kept | asdict(change), indent=1)
        self._path(change).write_text(text, encoding="utf-8")

    def _path(self, change: Change) -> Path:
        return self.folder / f"{_hash([json.dumps(asdict(change)), self._package])}.json"

    def _by(self, test: str) -> str:
        file = test.partition("::")[0]
        return _hash(_contents(self.copy.folder, (file,))) if test else self._tests


def _contents(folder: Path, tops: tuple[str, ...]) -> Iterator[str]:
    for top in tops:
        path = folder / top
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if file.exists():
                yield file.read_text(encoding="utf-8")


def _hash(parts: Iterator[str] | list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("room", choices=list(ROOMS))
    parser.add_argument("--changes", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="this change alone")
    parser.add_argument(
        "--seconds",
        type=float,
        default=math.inf,
        help="of tests, by what they take unchanged, that a change is shown to at most",
    )
    parser.add_argument(
        "--state",
        type=Path,
        default=Path(tempfile.gettempdir()) / "ntkexp-mutations",
        help="the folder where outcomes are kept",
    )
    options = parser.parse_args(words)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    preload()
    return run(options)


if __name__ == "__main__":
    raise SystemExit(main())
