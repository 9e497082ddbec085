"""Time the routes of lazy and linearised training, and a loop of torch.func beside them.

    python scripts/tools/bench/linearised.py              some ten minutes on one core
    python scripts/tools/bench/linearised.py --examples 1000    one of them, and no large kernel

An MLP of 3 x 256 on MNIST at batch 128, SGD with momentum 0.9: with one logit (digits below 5
against the others) and with ten classes. All ways start from the same weights and see the same
minibatches. They take turns in every round, a block of updates each; the table has the median over
the rounds of the milliseconds an update takes, and of its ratios to plain training and to forward
mode in the same round. `once_seconds` is what a way does before its first update (f_0, or the
kernel), `difference` the largest difference of a loss from forward mode's over all updates.

A kernel on disk is timed twice: as the operating system keeps it in memory, and beyond memory, for
which its pages are given back before every update, so that each reads its rows from the disk.

A third case has images that are augmented, of CIFAR-10 by a VGG11 of 8 channels: f_0 is then
computed with every update.

The peer is what one would write without ntkexp: torch.func.jvp of a functional call, differentiated
by torch.func.grad_and_value.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import torch
from omegaconf import OmegaConf
from torch import Tensor
from torch.func import functional_call, grad_and_value, jvp

from ntkexp import data, models
from ntkexp.config import TrainConfig
from ntkexp.data import Dataset
from ntkexp.data.images.options import Augment
from ntkexp.scripts.tools.bench.configs import composed
from ntkexp.scripts.tools.bench.timings import write_timings
from ntkexp.training.device import threads_or_gpu
from ntkexp.training.function_space import routes
from ntkexp.training.prepared import NetworkOnData
from ntkexp.training.supervised import Supervised

BATCH, LR = 128, 0.01
CPU = torch.device("cpu")
NETWORKS = {
    "c = 1": "data=mnist model.depth=3 model.width=256",
    "c = 10": "data=mnist model.depth=3 model.width=256",
    "augmented": "data=cifar10 data.augment=crop_flip model=vgg11 model.base=8",
}
FORWARD = "linearise, forward mode"
ON_DISK, BEYOND = "linearise, kernel on disk", "linearise, beyond memory"
# name -> words of the transform, and the route.
WAYS = {
    "plain": ("transform=plain", "network"),
    "alpha_scale": ("transform=alpha_scale transform.alpha=100", "network"),
    FORWARD: ("transform=linearise", "network"),
    "linearise, function space": ("transform=linearise", "function"),
    ON_DISK: ("transform=linearise", "disk"),
    BEYOND: ("transform=linearise", "disk"),
}
PEER = "torch.func, a plain loop"
DO_NOT_NEED = 4  # MADV_DONTNEED


@dataclass
class Way:
    """One way of training at work: `make` makes an update and returns its loss. Untimed, `warm_up`
    comes before a block of them and `forget` before each."""

    make: Callable[[int], Tensor]
    once_seconds: float = 0.0
    warm_up: Callable[[], object] = lambda: None
    forget: Callable[[], object] = lambda: None


def prepared(words: str, dataset: Dataset) -> NetworkOnData:
    overrides = [*words.split(), "probe=[]", "progress=false"]
    overrides += ["evaluate.test_examples=10", f"optim.batch_size={BATCH}", f"optim.lr={LR}"]
    overrides += ["optim.steps=1000000", "model.init=default"]
    plain = OmegaConf.to_object(composed(overrides))
    assert isinstance(plain, TrainConfig)
    objective = plain.objective.build(dataset.train.targets, dataset.classes)
    network = models.build(plain.model, dataset.input_shape, objective.outputs, plain.seed)
    transformed = plain.transform.build(network, dataset.train)
    return NetworkOnData(plain, dataset, objective, transformed.module, transformed, {}, {})


def loaded(case: str, examples: int) -> Dataset:
    """The images of a case; digits for one logit are below 5 or not."""
    words = [*NETWORKS[case].split(), f"data.train_examples={examples}", "data.test_examples=10"]
    config = OmegaConf.to_object(composed([*words, "optim.steps=1"]))
    assert isinstance(config, TrainConfig)
    dataset = data.load(config.data, 0, CPU, progress=False)
    if case != "c = 1":
        return dataset
    train = replace(dataset.train, targets=(dataset.train.targets < 5).long())
    test = replace(dataset.test, targets=(dataset.test.targets < 5).long())
    return replace(dataset, train=train, test=test, classes=2)


def ours(words: str, route: str, dataset: Dataset) -> Way:
    work = Supervised(prepared(words, dataset), routes.ROUTES, route)

    def make(step: int) -> Tensor:
        loss, _ = work.learner.step(step, work.lr(step), [], work.before_update)
        return loss

    way = Way(make)
    began = time.perf_counter()
    if route in ("function", "disk"):
        _ = work.learner.kernels.train  # type: ignore[attr-defined]
    elif (quick := work.transformed.on_training_set) and dataset.augment is Augment.none:
        _ = quick.start  # type: ignore[attr-defined]
    way.once_seconds = time.perf_counter() - began
    if route == "disk":
        kernels = work.learner.kernels  # type: ignore[attr-defined]
        way.warm_up = lambda: kernels.train.sum()
        way.forget = lambda: give_back(kernels.train, kernels.file)
    return way


def give_back(mapped: Tensor, file: Path) -> None:
    """The pages of a file that is mapped as this tensor, by this process and by the system."""
    first = mapped.data_ptr() // os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PAGE_SIZE")
    size = mapped.data_ptr() + mapped.nbytes - first
    advise = ctypes.CDLL(None, use_errno=True).madvise
    if advise(ctypes.c_void_p(first), ctypes.c_size_t(size), DO_NOT_NEED):
        raise OSError(ctypes.get_errno(), "madvise")
    with file.open("rb") as opened:
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def made_ways(case: str, dataset: Dataset, folder: Path) -> dict[str, Way]:
    """The kernel on disk is written once; the other way finds it there."""
    words = f"{NETWORKS[case]} paths.outputs={folder}"
    if case == "augmented":
        chosen = {name: way for name, way in WAYS.items() if way[1] == "network"}
        return {name: ours(f"{words} {of}", route, dataset) for name, (of, route) in chosen.items()}
    made = {name: ours(f"{words} {of}", route, dataset) for name, (of, route) in WAYS.items()}
    made[ON_DISK].forget = made[BEYOND].warm_up = lambda: None
    made[BEYOND].once_seconds = made[ON_DISK].once_seconds
    return made | {PEER: peer(words, dataset)}


def peer(words: str, dataset: Dataset) -> Way:
    """A linearised network with torch.func, trained by hand."""
    made = prepared(f"{words} transform=plain", dataset)
    network, batches = made.model, Supervised(made).batches
    first = {name: w.detach().clone() for name, w in network.named_parameters()}
    weights = {name: w.clone() for name, w in first.items()}
    velocity = {name: torch.zeros_like(w) for name, w in first.items()}

    def linear(weights: dict[str, Tensor], x: Tensor) -> Tensor:
        change = {name: weights[name] - first[name] for name in first}
        start, along = jvp(lambda w: functional_call(network, w, (x,)), (first,), (change,))
        outputs: Tensor = start + along
        return outputs

    def loss_of(weights: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return made.objective.losses(linear(weights, x), y).mean()

    def make(step: int) -> Tensor:
        x, y = batches.take(step, dataset.train.inputs, dataset.train.targets)
        gradients, loss = grad_and_value(loss_of)(weights, x, y)
        for name, gradient in gradients.items():
            velocity[name].mul_(0.9).add_(gradient)
            weights[name].sub_(velocity[name], alpha=LR)
        return loss.detach()

    return Way(make)


def timed(way: Way, steps: range) -> tuple[float, list[Tensor]]:
    """Milliseconds an update, and the losses."""
    losses, seconds = [], 0.0
    way.warm_up()
    for step in steps:
        way.forget()
        began = time.perf_counter()
        losses.append(way.make(step))
        seconds += time.perf_counter() - began
    return 1e3 * seconds / len(steps), losses


def rows_of(
    case: str, dataset: Dataset, rounds: int, updates: int, folder: Path
) -> Iterator[dict[str, object]]:
    made = made_ways(case, dataset, folder)
    for way in made.values():
        way.make(0)
    spent: dict[str, list[float]] = {name: [] for name in made}
    losses: dict[str, list[Tensor]] = {name: [] for name in made}
    for number in range(rounds):
        steps = range(1 + number * updates, 1 + (number + 1) * updates)
        for name, way in made.items():
            milliseconds, of_steps = timed(way, steps)
            spent[name].append(milliseconds)
            losses[name] += of_steps
    truth = torch.stack(losses[FORWARD])
    for name, way in made.items():

        def against(other: str, times: list[float] = spent[name]) -> float:
            return median(a / b for a, b in zip(times, spent[other], strict=True))

        linear = name not in ("plain", "alpha_scale")
        difference = (torch.stack(losses[name]) - truth).abs().max().item()
        yield {
            "case": case,
            "way": name,
            "ms_an_update": median(spent[name]),
            "against_plain": against("plain"),
            "against_forward_mode": against(FORWARD),
            "once_seconds": way.once_seconds,
            "difference": difference if linear else float("nan"),
        }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--examples", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--updates", type=int, default=25)
    parser.add_argument("--only", choices=[*NETWORKS])
    parser.add_argument("--out", type=Path, default=Path("outputs/bench"))
    options = parser.parse_args()
    rows = []
    print(f"{'case':10}{'way':28}{'ms':>8}{'/plain':>8}{'/forward':>9}{'once s':>8}{'differs':>9}")
    options.out.mkdir(parents=True, exist_ok=True)
    for case in [options.only] if options.only else NETWORKS:
        dataset = loaded(case, options.examples)
        # Kernels on disk lie on the disk of the results.
        with tempfile.TemporaryDirectory(dir=options.out) as folder:
            made = rows_of(case, dataset, options.rounds, options.updates, Path(folder).absolute())
            for row in made:
                rows.append(row)
                print(
                    f"{case:10}{row['way']:28}{row['ms_an_update']:8.3f}{row['against_plain']:8.2f}"
                    f"{row['against_forward_mode']:9.3f}{row['once_seconds']:8.2f}"
                    f"{row['difference']:9.1e}",
                    flush=True,
                )
    where = f"{options.examples} examples, {threads_or_gpu(CPU)}"
    write_timings(rows, options.out / "linearised.parquet", __doc__, where)


if __name__ == "__main__":
    main()
