"""The commands that are disturbed, a second each, and what they leave undisturbed."""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from itertools import count
from pathlib import Path

import ntkexp.scripts.drawing  # noqa: F401 - what figures import
from ntkexp.cli import main
from ntkexp.scripts.tools.faults.lives import Call, Life

DISK = (
    "+exp=disk", "model.depth=2", "model.width=8", "data.train_examples=40", "data.grid=6",
    "probe.eigenfunctions.count=4", "optim.steps=6", "progress=false",
)  # fmt: skip
TRAIN = ("train", *DISK, "keep.weights=[0,3,6]")
STUDY = (
    "study", "+exp=rademacher", "study.seeds=2", "study.sizes=[2,3]", "study.draws=50",
    "study.multiclass_sizes=[2]", "study.sampled_weights=50", "progress=false",
)  # fmt: skip
# A commit at every step, or none but that which a signal asks for.
OFTEN, SELDOM = "checkpoint.every_seconds=0", "checkpoint.every_seconds=60"
# They say whether it was with --rerun.
SAYS_RERUN = ("config.yaml", "run.json")


@dataclass(frozen=True)
class Work:
    """A command, which finishes when nothing disturbs it."""

    words: tuple[str, ...]
    # The work whose results lie there when it begins.
    after: str = ""
    # The command that is given again after a fault, where it is another.
    again: tuple[str, ...] = ()

    @property
    def ways(self) -> list[tuple[str, ...]]:
        return [self.words, self.again] if self.again else [self.words]

    @property
    def in_sweep(self) -> bool:
        return "-m" in self.words


_SWEEP = (
    "train", "-m", *DISK, "seed=1,2", "optim.lr=0.01,0.02", "launcher.jobs=2", "launcher.threads=1",
    OFTEN,
)  # fmt: skip
WORKS = {
    "train": Work((*TRAIN, OFTEN)),
    "train, one commit": Work((*TRAIN, SELDOM)),
    "study": Work(STUDY),
    "members": Work(("train", *DISK, "members={seed: [1, 2], optim.lr: [0.01, 0.02]}", OFTEN)),
    "sweep": Work(_SWEEP),
    "rerun": Work((*TRAIN, OFTEN, "--rerun"), after="train", again=(*TRAIN, OFTEN)),
    "rerun of a sweep": Work((*_SWEEP, "--rerun"), after="sweep", again=_SWEEP),
    "done already": Work((*TRAIN, SELDOM), after="train"),
    "figures": Work(("figures", "alignment", "1"), after="train"),
    "report": Work(("report",), after="figures"),
    "keep": Work(("keep", "--out", "outputs/reference", "--", "disk"), after="train"),
}


@dataclass
class Reference:
    """A work's undisturbed lives: what they leave, and their calls."""

    work: Work
    home: Path
    calls: list[Call]
    # Files that were alike in both: the others have times in them.
    steady: set[str]


class References:
    """The undisturbed lives of each work, made when they are first asked for."""

    def __init__(self, top: Path, seed: str) -> None:
        self.top, self.seed = top, seed
        self._made: dict[str, Reference] = {}

    def begin(self, work: Work, home: Path) -> None:
        """A folder with what lies there when the work begins."""
        home.mkdir(parents=True)
        if work.after:
            shutil.copytree(self.of(work.after).home / "outputs", home / "outputs")

    def of(self, name: str) -> Reference:
        if name not in self._made:
            work = WORKS[name]
            two = [self.top / f"{kind} {name}" / "home" for kind in ("undisturbed", "second")]
            for home in two:
                self.begin(work, home)
            _warm(work)
            first = Life(work.words, two[0]).end()
            time.sleep(1)  # what has a time in it is another
            second = Life(work.words, two[1]).end()
            if first.code or second.code:
                raise SystemExit(f"{name}, undisturbed: {first.err}{second.err}")
            one, other = ({file: path.read_bytes() for file, path in files(home)} for home in two)
            if one.keys() != other.keys():
                raise SystemExit(f"{name}: two undisturbed lives leave other files")
            steady = {file for file in one if one[file] == other[file]}
            steady -= {file for file in one if Path(file).name in SAYS_RERUN}
            self._made[name] = Reference(work, two[0], first.calls, steady)
        return self._made[name]

    def spread(self, kind: str, name: str, number: int) -> Iterator[int]:
        """Numbers of calls of a work, for the trial of this number: trial by trial a kind comes to
        every place, then to all calls."""
        calls, turns = self.of(name).calls[:], Counter[str]()
        random.Random(f"{self.seed}/{kind}/{name}").shuffle(calls)
        turn_of: dict[int, int] = {}
        for call in calls:
            turn_of[call.number] = turns[call.place]
            turns[call.place] += 1
        order = sorted(turn_of, key=turn_of.__getitem__)
        # Several calls of one trial are far from each other in this order.
        return (order[(number + turn * len(order) // 3) % len(order)] for turn in count())


def files(home: Path) -> Iterator[tuple[str, Path]]:
    """Every file of the outputs by its name below them."""
    outputs = home / "outputs"
    paths = sorted(path for path in outputs.rglob("*") if not path.is_dir())
    return ((str(path.relative_to(outputs)), path) for path in paths)


def _warm(work: Work) -> None:
    """Import and compose here what its lives will need, so that no fork has to."""
    if work.words[0] in ("train", "study", "report"):
        with tempfile.TemporaryDirectory() as folder, chdir(folder), redirect_stdout(StringIO()):
            for words in work.ways:
                main(words)
