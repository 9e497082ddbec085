"""Members of one run against as many plain PyTorch loops, one after the other, with fused=True.

    python scripts/tools/bench/ensembles.py [--widths 16 64 256 512] [--optim sgd adam] [--turns 7]

Ten networks of 6 hidden layers on the disk's 200 points, full batch, one thread, one process: real
steps of both, in turns, medians of processor time. `ratio` is ours over theirs (goal: at most 1),
`arithmetic` ours over what the matrix products alone take at the rate of one large product.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import torch
from torch import Tensor, nn
from torch.nn import functional

from ntkexp import models
from ntkexp.compose.finalise import plan_of
from ntkexp.execution.prepare import prepare
from ntkexp.models.mlp import Mlp
from ntkexp.scripts.tools.bench.configs import composed
from ntkexp.scripts.tools.bench.timings import write_timings

MEMBERS, DEPTH, EXAMPLES, LR = 10, 6, 200, 1e-3
WORDS = (
    *("data=disk", f"data.train_examples={EXAMPLES}", "data.grid=4", "model=mlp", "probe=[]"),
    *("optim.batch_size=null", "optim.stop_loss=null", "optim.steps=1000000", f"optim.lr={LR}"),
    *("probing.spacing=list", "probing.steps=[0]", f"model.depth={DEPTH}", "device=cpu"),
    f"members={{seed: 'range({MEMBERS})'}}",
)
THEIRS = {
    "sgd": lambda weights: torch.optim.SGD(weights, LR, momentum=0.9, fused=True),
    "adam": lambda weights: torch.optim.Adam(weights, LR, fused=True),
}
# The side of a large product, a square; a turn makes as many steps as take so long.
LARGE, TURN_SECONDS = 1024, 0.2


def ours(outputs: str, optim: str, width: int) -> Callable[[int], None]:
    """Makes so many steps of all members."""
    words = (f"optim={optim}", f"model.width={width}", f"paths.outputs={outputs}")
    work = prepare(plan_of(composed([*WORDS, *words]))).work

    def steps(count: int) -> None:
        goal = work.step + count
        while work.step < goal:
            work.advance(goal)
        work.rows()

    return steps


def theirs(optim: str, width: int) -> Callable[[int], None]:
    """Makes so many steps of each of ten networks, one after the other."""
    inputs = torch.randn(EXAMPLES, 2)
    targets = (inputs.norm(dim=1) > 1).float()
    nets = [models.build(Mlp(depth=DEPTH, width=width), (2,), 1, seed) for seed in range(MEMBERS)]
    optimisers = [THEIRS[optim](net.parameters()) for net in nets]

    def steps(count: int) -> None:
        for net, optimiser in zip(nets, optimisers, strict=True):
            for _ in range(count):
                step(net, optimiser, inputs, targets)

    return steps


def step(net: nn.Module, optimiser: torch.optim.Optimizer, inputs: Tensor, targets: Tensor) -> None:
    optimiser.zero_grad()
    outputs = net(inputs)[:, 0]
    functional.binary_cross_entropy_with_logits(outputs, targets).backward()
    optimiser.step()


def seconds(make: Callable[[int], None], count: int) -> float:
    """Seconds of processor time for a step."""
    began = time.process_time()
    make(count)
    return (time.process_time() - began) / count


def seconds_of_arithmetic(width: int, rate: float) -> float:
    """Forward, gradients by the weights, and by the inputs of all layers but the first."""
    between = (DEPTH - 1) * width * width + width
    return 2 * MEMBERS * EXAMPLES * (3 * between + 2 * 2 * width) / rate


def rate() -> float:
    """Operations a second of one large product, the best of three."""
    a = torch.randn(LARGE, LARGE)
    return 2 * LARGE**3 / min(seconds(lambda _: torch.mm(a, a), 1) for _ in range(3))


def measured(optim: str, width: int, turns: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as outputs:
        ways = {"ours": ours(outputs, optim, width), "theirs": theirs(optim, width)}
        counts = {}
        for name, way in ways.items():
            way(3)
            counts[name] = max(1, int(TURN_SECONDS / seconds(way, 2)))
        times: dict[str, list[float]] = {name: [] for name in ways}
        rates = []
        for _ in range(turns):
            for name, way in ways.items():
                times[name].append(seconds(way, counts[name]))
            rates.append(rate())
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    products = statistics.median(rates)
    return {
        "optim": optim,
        "width": width,
        "ours_ms": 1e3 * medians["ours"],
        "theirs_ms": 1e3 * medians["theirs"],
        "ratio": medians["ours"] / medians["theirs"],
        "arithmetic": medians["ours"] / seconds_of_arithmetic(width, products),
        "gflops": products / 1e9,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--widths", type=int, nargs="+", default=[16, 32, 64, 128, 256, 512])
    parser.add_argument("--optim", nargs="+", choices=THEIRS, default=[*THEIRS])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--out", type=Path, help="a folder for ensembles.parquet")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for optim in options.optim:
        for width in options.widths:
            rows.append(measured(optim, width, options.turns))
            print(*(f"{k} {v:.3g}" if isinstance(v, float) else v for k, v in rows[-1].items()))
    if options.out is not None:
        where = "1 thread, processor seconds"
        write_timings(rows, options.out / "ensembles.parquet", __doc__, where)


if __name__ == "__main__":
    main()
