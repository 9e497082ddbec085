"""Time the routes of lazy and linearised training, and a loop of torch.func beside them.

    python scripts/bench_linearised.py                    some ten minutes on one core
    python scripts/bench_linearised.py --examples 1000    one of them, and no large kernel

An MLP of 3 x 256 on MNIST at batch 128, SGD with momentum 0.9: with one logit (digits below 5
against the others) and with ten classes. All ways start from the same weights and see the same
minibatches. They take turns in every round, a block of updates each; the table has the median over
the rounds of the milliseconds an update takes, and of its ratios to plain training and to forward
mode in the same round. `once_seconds` is what a way does before its first update (f_0, or the
kernel), `difference` the largest difference of a loss from forward mode's over all updates.

The peer is what one would write without ntkexp: torch.func.jvp of a functional call, differentiated
by torch.func.grad_and_value.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import torch
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf
from torch import Tensor
from torch.func import functional_call, grad_and_value, jvp

from ntkexp import data, models
from ntkexp.compose import composition
from ntkexp.config import TrainConfig, check
from ntkexp.data import Dataset
from ntkexp.results.benchmarks import write_timings
from ntkexp.training import routes
from ntkexp.training.device import threads_or_gpu
from ntkexp.training.prepared import Prepared
from ntkexp.training.supervised import Supervised

BATCH, LR = 128, 0.01
# name -> words of the transform, and the route.
WAYS = {
    "plain": ("transform=plain", "network"),
    "alpha_scale": ("transform=alpha_scale transform.alpha=100", "network"),
    "linearise, forward mode": ("transform=linearise", "network"),
    "linearise, function space": ("transform=linearise", "function"),
}
PEER = "torch.func, a plain loop"


@dataclass
class Way:
    """One way of training at work: `make` makes an update and returns its loss."""

    make: Callable[[int], Tensor]
    once_seconds: float = 0.0


def prepared(words: str, dataset: Dataset) -> Prepared:
    composition.register()
    overrides = [*words.split(), "data=mnist", "model.depth=3", "model.width=256", "probe=[]"]
    overrides += ["evaluate.test_examples=10", f"optim.batch_size={BATCH}", f"optim.lr={LR}"]
    overrides += ["optim.steps=1000000", "model.init=default"]
    with initialize_config_module("ntkexp.configs", version_base="1.3"):
        config = compose("train", overrides=overrides)
    check(config)
    plain = OmegaConf.to_object(config)
    assert isinstance(plain, TrainConfig)
    objective = plain.objective.build(dataset.train.targets, dataset.classes)
    network = models.build(plain.model, dataset.input_shape, objective.outputs, plain.seed)
    transformed = plain.transform.build(network, dataset.train)
    return Prepared(plain, dataset, objective, transformed.module, transformed, {}, {})


def loaded(examples: int, device: torch.device) -> dict[str, Dataset]:
    """Digits of ten classes, and below 5 against the others."""
    composition.register()
    words = ["data=mnist", f"data.train_examples={examples}", "data.test_examples=10"]
    with initialize_config_module("ntkexp.configs", version_base="1.3"):
        config = OmegaConf.to_object(compose("train", overrides=[*words, "optim.steps=1"]))
    assert isinstance(config, TrainConfig)
    ten = data.load(config.data, 0, device, progress=False)
    train = replace(ten.train, targets=(ten.train.targets < 5).long())
    test = replace(ten.test, targets=(ten.test.targets < 5).long())
    return {"c = 1": replace(ten, train=train, test=test, classes=2), "c = 10": ten}


def ours(words: str, route: str, dataset: Dataset) -> Way:
    work = Supervised(prepared(words, dataset), routes.ROUTES, route)

    def make(step: int) -> Tensor:
        loss, _ = work.learner.step(step, work.lr(step), [], work.before_update)
        return loss

    way = Way(make)
    began = time.perf_counter()
    if route == "function":
        _ = work.learner.kernels.train  # type: ignore[attr-defined]
    elif quick := work.transformed.on_training_set:
        _ = quick.start  # type: ignore[attr-defined]
    way.once_seconds = time.perf_counter() - began
    return way


def peer(dataset: Dataset) -> Way:
    """A linearised network with torch.func, trained by hand."""
    made = prepared("transform=plain", dataset)
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
    began = time.perf_counter()
    losses = [way.make(step) for step in steps]
    if losses[0].is_cuda:
        torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - began) / len(steps), losses


def rows_of(case: str, dataset: Dataset, rounds: int, updates: int) -> Iterator[dict[str, object]]:
    made = {name: ours(*way, dataset) for name, way in WAYS.items()} | {PEER: peer(dataset)}
    for way in made.values():
        way.make(0)
    spent: dict[str, list[float]] = {name: [] for name in made}
    losses: dict[str, list[Tensor]] = {name: [] for name in made}
    for number in range(rounds):
        steps = range(1 + number * updates, 1 + (number + 1) * updates)
        for name, way in made.items():
            milliseconds, found = timed(way, steps)
            spent[name].append(milliseconds)
            losses[name] += found
    truth = torch.stack(losses["linearise, forward mode"])
    for name, way in made.items():

        def against(other: str, own: list[float] = spent[name]) -> float:
            return median(a / b for a, b in zip(own, spent[other], strict=True))

        linear = name not in ("plain", "alpha_scale")
        difference = (torch.stack(losses[name]) - truth).abs().max().item()
        yield {
            "case": case,
            "way": name,
            "ms_an_update": median(spent[name]),
            "against_plain": against("plain"),
            "against_forward_mode": against("linearise, forward mode"),
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
    parser.add_argument("--only", choices=["c = 1", "c = 10"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path("outputs/bench"))
    options = parser.parse_args()
    device = torch.device(options.device)
    datasets = loaded(options.examples, device)
    rows = []
    print(f"{'case':8}{'way':28}{'ms':>8}{'/plain':>8}{'/forward':>9}{'once s':>8}{'differs':>9}")
    for case in [options.only] if options.only else datasets:
        for row in rows_of(case, datasets[case], options.rounds, options.updates):
            rows.append(row)
            print(
                f"{case:8}{row['way']:28}{row['ms_an_update']:8.3f}{row['against_plain']:8.2f}"
                f"{row['against_forward_mode']:9.3f}{row['once_seconds']:8.2f}"
                f"{row['difference']:9.1e}",
                flush=True,
            )
    where = f"{options.examples} examples, {threads_or_gpu(device)}"
    write_timings(rows, options.out / "linearised.parquet", __doc__, where)


if __name__ == "__main__":
    main()
