"""Time training in memory against a DataLoader, and what watching costs.

    python scripts/tools/bench/training.py                    five minutes on two CPU cores
    python scripts/tools/bench/training.py --only estimate    plain, and what has this in its name
    python scripts/tools/bench/training.py --device cuda      VGG19, as a graph and without

On a CPU an MLP of 6 x 80 on 10,000 MNIST digits at batch 100. An epoch's time is the difference of
a long and a short run over their difference in epochs: starting up, first and last evaluation
cancel. The peer is what one would write without ntkexp: images through torchvision's transforms, a
DataLoader, torch.optim.SGD. All take turns in every round; the table has the best seconds of each,
and the median over the rounds of its ratio to plain training in the same round.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
import torch
from omegaconf import OmegaConf
from PIL import Image
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from ntkexp import models
from ntkexp.config import TrainConfig
from ntkexp.data.images.sources import read
from ntkexp.data.images.torchvision import torchvision_datasets
from ntkexp.errors import UserError
from ntkexp.launch.job import BAD_INPUT
from ntkexp.results import Run
from ntkexp.scripts.tools.bench.configs import composed
from ntkexp.scripts.tools.bench.timings import write_timings
from ntkexp.training import experiment
from ntkexp.training.device import resolve, threads_or_gpu
from ntkexp.training.loop import Loop

EXAMPLES, BATCH = 10_000, 100


@dataclass(frozen=True)
class Case:
    """A network and its images, and what it trains on."""

    about: str
    device: str
    data: str
    words: tuple[str, ...]

    @property
    def overrides(self) -> list[str]:
        fixed = (f"data={self.data}", f"data.train_examples={EXAMPLES}", f"device={self.device}")
        return [*fixed, *self.words, f"optim.batch_size={BATCH}"]


CASES = {
    "cpu": Case("MLP 6 x 80", "cpu", "mnist", ("model.depth=6", "model.width=80")),
    "cuda": Case("VGG19", "cuda", "cifar10", ("model=vgg19", "optim.lr=0.01")),
}
# No evaluation but at the ends, and none of those large.
PLAIN = (
    "optim.stop_loss=null",
    "probing.spacing=list",
    "probing.steps=[0]",
    "data.test_examples=100",
    "progress=false",
    "checkpoint.every_seconds=1e9",
)
WATCHED = {
    "complexity: estimate on the minibatch": ("probe.complexity.batch=minibatch",),
    "complexity: estimate on a fixed batch": (),
    "complexity: exact on a fixed batch": ("probe.complexity.mode=exact",),
}
SHORT, LONG = 1, 9
# A run of this many steps, looked at as often as the paper looks.
LOOKED_STEPS = 10_000


@dataclass
class Row:
    what: str
    seconds_per_epoch: float
    against_plain: float
    target: str


def ours(case: Case, folder: Path, *words: str) -> float:
    """Seconds of an epoch of the training loop as `ntkexp train` runs it."""
    long, short = (
        timed(case, folder, *PLAIN, f"optim.epochs={epochs}", *words) for epochs in (LONG, SHORT)
    )
    return (long - short) / (LONG - SHORT)


def configured(case: Case, *words: str) -> TrainConfig:
    plain = OmegaConf.to_object(composed([*case.overrides, *words]))
    assert isinstance(plain, TrainConfig)
    return plain


def timed(case: Case, folder: Path, *words: str) -> float:
    began = time.perf_counter()
    ready = experiment.prepare(configured(case, *words))
    with Run(Path(tempfile.mkdtemp(dir=folder)), ready.tables) as run:
        run.begin("", {})
        Loop(ready.work, run, looks=ready.looks, probes=ready.probes).go(lambda: False)
        return time.perf_counter() - began


class Pictures(Dataset):  # type: ignore[type-arg]
    """Images as torchvision's own data sets hand them out: PIL, through a transform, one by one."""

    def __init__(self, name: str) -> None:
        # torchvision's compiled part need not fit torch for this; transforms import once past it.
        torchvision_datasets()
        from torchvision import transforms

        images = read(name, "train", progress=False)
        pixels = images.pixels[:EXAMPLES].transpose(0, 2, 3, 1)
        self.pixels, self.labels = np.ascontiguousarray(pixels), images.labels[:EXAMPLES]
        mean, spread = (tuple(x / 255) for x in (pixels.mean((0, 1, 2)), pixels.std((0, 1, 2))))
        self.transform = transforms.Compose(
            [transforms.ToTensor(), transforms.Normalize(mean, spread)]
        )

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = Image.fromarray(self.pixels[index].squeeze())
        return self.transform(image), int(self.labels[index])


def peer(case: Case, pictures: Pictures, workers: int) -> float:
    """Seconds of an epoch over a torchvision data set and a DataLoader."""
    loader = DataLoader(
        pictures, BATCH, shuffle=True, num_workers=workers, pin_memory=case.device == "cuda"
    )
    config = configured(case, "optim.epochs=1")
    shape = tuple(pictures[0][0].shape)
    model = models.build(config.model, shape, 10, seed=0).to(case.device)
    optimiser = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    began = time.perf_counter()
    for images, labels in loader:
        inputs, targets = images.to(case.device), labels.to(case.device)
        loss = functional.cross_entropy(model(inputs), targets)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        loss.item()
    return time.perf_counter() - began


def ways(case: Case, folder: Path) -> dict[str, tuple[Callable[[], float], str]]:
    """The ways that are timed, each with the target for its ratio to the first."""
    pictures = Pictures(case.data)
    timed: dict[str, tuple[Callable[[], float], str]] = {
        "plain": (partial(ours, case, folder, "probe=[]"), ""),
    }
    if case.device == "cuda":
        words = ("probe=[]", "cuda_graph=false")
        timed["no graph"] = (partial(ours, case, folder, *words), "")
    for what, words in WATCHED.items():
        target = "at most 1.6" if what.endswith("minibatch") else ""
        timed[what] = (partial(ours, case, folder, "probe=[complexity]", *words), target)
    least = "at least 2" if case.device == "cuda" else "at least 10"
    for what, workers in (("same process", 0), ("two workers", 2)):
        name = f"torchvision and DataLoader, {what}"
        timed[name] = (partial(peer, case, pictures, workers), least)
    return timed


def rows(case: Case, folder: Path, rounds: int, only: str) -> list[Row]:
    all_ways = ways(case, folder)
    chosen = {what: way for what, way in all_ways.items() if what == "plain" or only in what}
    chosen["plain"][0]()
    times: dict[str, list[float]] = {what: [] for what in chosen}
    for _ in range(rounds):
        for what, (way, _) in chosen.items():
            times[what].append(way())
    results = []
    for what, seconds in times.items():
        ratios = [t / plain for t, plain in zip(seconds, times["plain"], strict=True)]
        results.append(Row(what, min(seconds), median(ratios), chosen[what][1]))
    if case.device == "cuda" and not only:
        results.append(looked(case, folder))
    return results


def looked(case: Case, folder: Path) -> Row:
    """A long run with the paper's probes at its log schedule, against one without."""
    words = ("optim.stop_loss=null", f"optim.steps={LOOKED_STEPS}", "optim.epochs=null")
    words += ("progress=false", "checkpoint.every_seconds=1e9")
    with_probes = timed(case, folder, *words, "probe=[spectrum,alignment]")
    without = timed(case, folder, *words, "probe=[]")
    epochs = LOOKED_STEPS * BATCH / EXAMPLES
    return Row(
        f"{LOOKED_STEPS:,} steps with spectrum and alignment, against the same without",
        with_probes / epochs,
        with_probes / without,
        "at most 1.15",
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=sorted(CASES), default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", metavar="WORDS")
    parser.add_argument("--out", type=Path, help="default: outputs/bench, none with --only")
    options = parser.parse_args(argv)
    case = CASES[options.device]
    try:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            results = rows(case, Path(folder), options.rounds, options.only)
    except UserError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    where = threads_or_gpu(resolve(case.device))
    print(f"{case.about}, {EXAMPLES:,} images, batch {BATCH}, {where}")
    print(pd.DataFrame(results).to_string(index=False, float_format=lambda x: f"{x:.3f}"))
    out = options.out or (None if options.only else Path("outputs/bench"))
    if out is not None:
        file = out / f"training_{case.device}.parquet"
        write_timings([asdict(row) for row in results], file, __doc__, where)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
