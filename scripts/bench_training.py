"""Time training in memory against a DataLoader, and what watching every iteration costs.

    python scripts/bench_training.py                  half a minute on two CPU cores

An MLP of 6 x 80 on 10,000 MNIST digits at batch 100. An epoch's time is the difference of a long
and a short run over their difference in epochs: starting up, first and last evaluation cancel. The
peer is what one would write without ntkexp: torchvision.datasets.MNIST with its transforms, a
DataLoader, torch.optim.SGD. Rounds take turns, and the best of each counts.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf
from torch.nn import functional
from torch.utils.data import DataLoader

from ntkexp import models, schemas
from ntkexp.config import TrainConfig, check
from ntkexp.data.sources import read
from ntkexp.data.torchvision_import import torchvision_datasets
from ntkexp.launch import plugin
from ntkexp.results import Run
from ntkexp.training import experiment

EXAMPLES, BATCH = 10_000, 100
NET = ("data=mnist", f"data.train_examples={EXAMPLES}", "model.depth=6", "model.width=80")
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
SHORT, LONG = 1, 4


@dataclass
class Row:
    what: str
    seconds_per_epoch: float
    against_plain: float
    target: str


def ours(folder: Path, *words: str) -> float:
    """Seconds of an epoch of the training loop as `ntkexp train` runs it."""
    return (timed(folder, LONG, *words) - timed(folder, SHORT, *words)) / (LONG - SHORT)


def timed(folder: Path, epochs: int, *words: str) -> float:
    with initialize_config_module("ntkexp.configs", version_base="1.3"):
        config = compose("train", overrides=[*NET, *PLAIN, f"optim.epochs={epochs}", *words])
    check(config)
    plain = OmegaConf.to_object(config)
    assert isinstance(plain, TrainConfig)
    built = experiment.build_probes(plain)
    with Run(Path(tempfile.mkdtemp(dir=folder)), experiment.tables(built)) as run:
        run.begin("", {})
        began = time.perf_counter()
        experiment.train(plain, built, run, lambda: False)
        return time.perf_counter() - began


def torchvision_folder(folder: Path) -> Path:
    """The first digits of MNIST in torchvision's own files."""
    images = read("mnist", "train", progress=False)
    raw = folder / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for stem in ("train", "t10k"):
        pixels, labels = images.pixels[:EXAMPLES, 0], images.labels[:EXAMPLES].astype(np.uint8)
        _write_idx(raw / f"{stem}-images-idx3-ubyte", pixels)
        _write_idx(raw / f"{stem}-labels-idx1-ubyte", labels)
    return folder


def _write_idx(path: Path, array: np.ndarray) -> None:
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes()
    path.write_bytes(header + array.tobytes())


def peer(root: Path, workers: int) -> float:
    """Seconds of an epoch over a torchvision dataset and a DataLoader."""
    # torchvision's compiled part need not fit torch for this; transforms import once it is past.
    datasets = torchvision_datasets()
    from torchvision import transforms

    steps = [transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))]
    dataset = datasets.MNIST(str(root), train=True, transform=transforms.Compose(steps))
    loader = DataLoader(dataset, BATCH, shuffle=True, num_workers=workers)
    with initialize_config_module("ntkexp.configs", version_base="1.3"):
        config = OmegaConf.to_object(compose("train", overrides=[*NET, "optim.epochs=1"]))
    assert isinstance(config, TrainConfig)
    model = models.build(config.model, (1, 28, 28), 10, seed=0)
    optimiser = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    began = time.perf_counter()
    for inputs, targets in loader:
        loss = functional.cross_entropy(model(inputs), targets)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        loss.item()
    return time.perf_counter() - began


def rows(folder: Path, rounds: int) -> list[Row]:
    root = torchvision_folder(folder / "torchvision")
    ways: dict[str, Callable[..., float]] = {"plain": lambda: ours(folder, "probe=[]")}
    for what, words in WATCHED.items():
        ways[what] = partial(ours, folder, "probe=[complexity]", *words)
    ways["torchvision and DataLoader, same process"] = lambda: peer(root, 0)
    ways["torchvision and DataLoader, two workers"] = lambda: peer(root, 2)
    ways["plain"]()
    found: dict[str, list[float]] = {what: [] for what in ways}
    for _ in range(rounds):
        for what, way in ways.items():
            found[what].append(way())
    best = {what: min(times) for what, times in found.items()}
    targets = {"complexity: estimate on the minibatch": "at most 1.6"}
    return [
        Row(
            what,
            seconds,
            seconds / best["plain"],
            "at least 10" if "DataLoader" in what else targets.get(what, ""),
        )
        for what, seconds in best.items()
    ]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("outputs/bench"))
    given = parser.parse_args(argv)
    schemas.register()
    plugin.register()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        table = pd.DataFrame(rows(Path(folder), given.rounds))
    print(f"MLP 6 x 80, {EXAMPLES:,} digits, batch {BATCH}, {torch.get_num_threads()} threads")
    print(table.to_string(index=False, float_format=lambda x: f"{x:.3f}"))
    given.out.mkdir(parents=True, exist_ok=True)
    table.to_parquet(given.out / "training.parquet")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
