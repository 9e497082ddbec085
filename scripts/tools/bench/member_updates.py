"""Processor time of an update of one network: by itself, and as a member of a stack.

    python scripts/tools/bench/member_updates.py [--members 16] [--turns 25]

One thread, one process, real training steps of the network of Figure 13 (6 x 60, minibatches of
100 digits), without starting up, probes or evaluations; both ways take turns, medians. `gflops` is
the arithmetic of the matrix products over the whole time, beside the rate of one large product.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import torch
from torch.utils.flop_counter import FlopCounterMode

from ntkexp.compose.finalise import plan_of
from ntkexp.execution.prepare import prepare
from ntkexp.scripts.tools.bench.configs import composed
from ntkexp.scripts.tools.bench.members import SWEEP
from ntkexp.scripts.tools.bench.timings import write_timings
from ntkexp.training.work import Work

# Differing in the rate alone, members see the same inputs and share a first product.
KINDS = {
    "seeds": "members={{seed: 'range({})'}}",
    "rates": "members={{optim.lr: {}}}",
}
UPDATES, LARGE = 100, 1536


def ready(outputs: str, words: str) -> Work:
    words_of_all = (*SWEEP, "optim.steps=100000000", f"paths.outputs={outputs}")
    return prepare(plan_of(composed([*words_of_all, words]))).work


def milliseconds(work: Work, steps: int) -> float:
    """Processor time for each of `steps` steps of all that is trained."""
    goal = work.step + steps
    began = time.process_time()
    while work.step < goal:
        work.advance(goal)
    work.rows()
    return 1e3 * (time.process_time() - began) / steps


def gflop(work: Work) -> float:
    """The GFLOP of an update; a member's are as many, in operations the counter does not know."""
    with FlopCounterMode(display=False) as counter:
        milliseconds(work, 1)
    return counter.get_total_flops() / 1e9


def large_product() -> float:
    """The GFLOP/s of a large matrix product."""
    a = torch.randn(LARGE, LARGE)
    torch.mm(a, a)
    began = time.process_time()
    torch.mm(a, a)
    return float(2 * LARGE**3 / (time.process_time() - began) / 1e9)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--members", type=int, nargs="+", default=[4, 8, 16, 32])
    parser.add_argument("--turns", type=int, default=25)
    parser.add_argument("--out", type=Path, default=Path("outputs/bench"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    with tempfile.TemporaryDirectory() as outputs:
        net = ready(outputs, "seed=0")
        milliseconds(net, UPDATES)
        work = gflop(net)
        for kind, members in ((kind, m) for kind in KINDS for m in options.members):
            axis = members if kind == "seeds" else [0.01 + 1e-5 * m for m in range(members)]
            stack = ready(outputs, KINDS[kind].format(axis))
            steps = max(UPDATES // members, 5)
            milliseconds(stack, steps)
            turns = [
                (milliseconds(net, UPDATES), milliseconds(stack, steps) / members, large_product())
                for _ in range(options.turns)
            ]
            alone, stacked, large = (
                statistics.median(column) for column in zip(*turns, strict=True)
            )
            ratio = statistics.median(a / b for a, b, _ in turns)
            rows.append(
                {
                    "differ in": kind,
                    "members": members,
                    "separate_ms": alone,
                    "stacked_ms": stacked,
                    "ratio": ratio,
                    "separate_gflops": 1e3 * work / alone,
                    "stacked_gflops": 1e3 * work / stacked,
                    "large_product_gflops": large,
                }
            )
            print("  ".join(f"{k} {v:.3g}" if k != "differ in" else v for k, v in rows[-1].items()))
    write_timings(rows, options.out / "member_updates.parquet", __doc__, "1 thread on cpu")


if __name__ == "__main__":
    main()
