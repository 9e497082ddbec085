"""The works that are disturbed: training, training on images, a study, a sweep; a second each."""

from __future__ import annotations

import io
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from ntkexp.scripts.tools.faults.lives import Life
from ntkexp.scripts.tools.faults.watch import Operation

DISK = (
    "+exp=disk",
    "model.depth=2",
    "model.width=8",
    "data.train_examples=40",
    "data.grid=6",
    "probe.eigenfunctions.count=4",
    "optim.steps=8",
    "progress=false",
)
# Commits at every step, and none but the one that a signal asks for. Lives of one run differ in it:
# what one has committed is not what the next would commit.
PACES = ("checkpoint.every_seconds=0", "checkpoint.every_seconds=60")
IMAGES = (
    "+exp=mlp_mnist",
    "model.depth=2",
    "model.width=8",
    "data.train_examples=60",
    "data.test_examples=30",
    "probing.examples=6",
    "optim.batch_size=20",
    "optim.epochs=2",
    "optim.stop_loss=null",
    "progress=false",
)


JOBS_OF_SWEEP = 4


@dataclass(frozen=True)
class Work:
    """A command, which finishes when nothing disturbs it."""

    name: str
    words: tuple[str, ...]
    # True: it reads images, whose checksums are part of what it is.
    images: bool = False

    @property
    def sweep(self) -> bool:
        return "-m" in self.words

    @property
    def paces(self) -> tuple[str, ...]:
        return PACES if self.words[0] == "train" else ("",)

    def at(self, pace: str, *, rerun: bool = False) -> tuple[str, ...]:
        return (*self.words, *filter(None, (pace, "--rerun" if rerun else "")))


WORKS = (
    Work("train", ("train", *DISK, "keep.weights=[0,3,8]")),
    Work("train on images", ("train", *IMAGES), images=True),
    Work(
        "study",
        (
            "study",
            "+exp=rademacher",
            "study.seeds=2",
            "study.sizes=[2,3]",
            "study.draws=50",
            "study.multiclass_sizes=[2]",
            "study.sampled_weights=50",
            "progress=false",
        ),
    ),
    Work(
        "members",
        ("train", *DISK, "optim.steps=4", "members={seed: [1, 2], optim.lr: [0.01, 0.02]}"),
    ),
    Work(
        "sweep",
        (
            *("train", "-m", *DISK, "optim.steps=4", "seed=1,2", "optim.lr=0.01,0.02"),
            *("launcher.jobs=2", "launcher.threads=1"),
        ),
    ),
)


@dataclass
class Reference:
    """A work's undisturbed lives: what they leave, what they did to files and how long."""

    work: Work
    home: Path
    environment: Mapping[str, str]
    operations: dict[tuple[str, ...], list[Operation]] = field(default_factory=dict)
    seconds: float = 0.0

    def make(self) -> None:
        """Run from nothing at each pace, then again as a rerun; the last tables remain."""
        for pace in self.work.paces:
            shutil.rmtree(self.home, ignore_errors=True)
            self.home.mkdir(parents=True)
            for rerun in (False, True):
                words = self.work.at(pace, rerun=rerun)
                life = Life(words, self.home, environment=self.environment)
                life.start()
                ending = life.end()
                life.forget()
                if ending.code:
                    raise SystemExit(f"undisturbed, {words} ends with {ending.code}: {ending.err}")
                self.operations[words] = ending.operations
                self.seconds = max(self.seconds, ending.seconds)


def make_images(folder: Path, seed: int) -> None:
    """MNIST as image parquet, made up: ten blurred kinds of noise; another seed, other images."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 160, (10, 28, 28))
    (folder / "mnist").mkdir(parents=True)
    for split, count in (("train", 120), ("test", 60)):
        labels = rng.permutation(np.arange(count) % 10)
        pixels = kinds[labels] + rng.integers(0, 95, (count, 28, 28))
        frame = {"image": [_png(image) for image in pixels], "label": labels}
        pd.DataFrame(frame).to_parquet(folder / "mnist" / f"{split}-00000-of-00001.parquet")


def _png(pixels: np.ndarray) -> dict[str, object]:
    file = io.BytesIO()
    Image.fromarray(pixels.astype(np.uint8)).save(file, format="PNG")
    return {"bytes": file.getvalue(), "path": None}
