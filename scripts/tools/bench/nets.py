"""Today's networks: our kernel against torch.func's, in turns, warm, in one process.

    python scripts/tools/bench/nets.py --out outputs/bench  all, about 20 minutes on two idle cores
    python scripts/tools/bench/nets.py --out outputs/bench --missing    those it has no row of
    python scripts/tools/bench/nets.py --net resnet18 --rounds 5
    python scripts/tools/bench/nets.py --net resnet18@224 mobilenet_v2@224 efficientnet_b0@224
    OMP_NUM_THREADS=1 python scripts/tools/bench/nets.py --small --cpu-seconds     few inputs

For each network: n = 8 inputs, c = 10 outputs, 3 x 32 x 32 unless it says otherwise. The peer takes
per-example Jacobians with vmap(jacrev) and multiplies them, by groups of parameters where the whole
Jacobian is beyond ROOM_BYTES (torch_func.py); where vmap cannot follow, one backward for each
output of each input. Times are medians over rounds in which the two, both warm, take turns. A ratio
above 1 means that ours is faster. FLOPs are counted by torch for both. `difference` is between the
two kernels in float64, relative to the largest entry. `peak` is what a call adds to the resident
memory of the process (Linux).

Each row is written as soon as it is measured, so a long run may be cut into several of one table.
"""

from __future__ import annotations

import argparse
import copy
import ctypes
import gc
import re
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from ntkexp.report.sheets import read_timings
from ntkexp.scripts.tools.bench import small_networks
from ntkexp.scripts.tools.bench.networks import NETS, built
from ntkexp.scripts.tools.bench.peers import in_turns, of_loops
from ntkexp.scripts.tools.bench.timings import commit, write_timings
from ntkexp.scripts.tools.bench.torch_func import ROOM_BYTES, of_torch_func
from ntkexp.tangent import tangent_kernel

TABLE = "nets"
# Short calls waver most: below this the median is of ten times as many rounds. And a peer that
# takes minutes is timed once.
QUICK_SECONDS, SLOW_SECONDS = 0.5, 60
# Neither convolutions nor attention: not slower is what is asked.
PLAIN = ("lstm", "gru", "regression")
# Of small networks, by outputs and inputs; 1 elsewhere. VGG11 has 10 inputs.
SMALL_GOALS = {"1-8": 0.9, "10-10": 7.0}


@dataclass
class Row:
    """`goal` is the ratio asked for: 1, and with convolutions or attention 3, or 60 % of the ratio
    of FLOPs where that is less. Of 224 pixels none is asked for."""

    net: str
    parameters: int
    ours_seconds: float
    peer: str
    peer_seconds: float
    ratio: float
    goal: float
    difference: float
    ours_gflop: float
    peer_gflop: float
    ours_peak_gb: float
    peer_peak_gb: float
    fallback: str
    rounds: int
    room_gb: float
    commit: str


def measured(name: str, rounds: int, clock: Callable[[], float]) -> Row:
    model, inputs = (small_networks.built if name in small_networks.CASES else built)(name)

    def ours() -> object:
        return tangent_kernel(model, inputs)

    kernel = tangent_kernel(model, inputs)
    tool, peer = "torch.func", partial(of_torch_func, model, inputs)
    try:
        peer_gflop = _gflops(peer)
    except RuntimeError:  # torch.func does not follow every recurrent layer
        tool, peer = "autograd loops", partial(of_loops, model, inputs)
        peer_gflop = _gflops(peer)
    ours_gflop = _gflops(ours)
    ours_peak = peak_gb(ours)
    began = time.perf_counter()
    peer_peak = peak_gb(peer)
    rounds = _rounds(rounds, time.perf_counter() - began)
    seconds = in_turns({"ours": ours, tool: peer}, rounds, clock, warm=True)
    return Row(
        net=name,
        parameters=sum(p.numel() for p in model.parameters()),
        ours_seconds=seconds["ours"],
        peer=tool,
        peer_seconds=seconds[tool],
        ratio=seconds[tool] / seconds["ours"],
        goal=goal(name, peer_gflop / ours_gflop),
        difference=_difference(model, inputs),
        ours_gflop=ours_gflop,
        peer_gflop=peer_gflop,
        ours_peak_gb=ours_peak,
        peer_peak_gb=peer_peak,
        fallback=", ".join(kernel.fallback) or "-",
        rounds=rounds,
        room_gb=ROOM_BYTES / 1e9,
        commit=commit(),
    )


def _rounds(rounds: int, seconds: float) -> int:
    if seconds < QUICK_SECONDS:
        return 10 * rounds
    return rounds if seconds < SLOW_SECONDS else 1


def goal(name: str, gflop_ratio: float) -> float:
    if name.endswith("@224"):
        return float("nan")
    if name in small_networks.CASES:
        return SMALL_GOALS.get(name.partition("-")[2], 1.0)
    return 1.0 if name in PLAIN else max(1.0, min(3.0, 0.6 * gflop_ratio))


def _difference(model: nn.Module, inputs: Tensor) -> float:
    """The difference from torch.func in float64, where orders of summation differ by rounding."""
    double = copy.deepcopy(model).double()
    batch = inputs.double() if inputs.is_floating_point() else inputs
    try:
        truth = of_torch_func(double, batch)
    except RuntimeError:
        truth = of_loops(double, batch)
    ours = tangent_kernel(double, batch).gram
    return float((ours - truth).abs().max() / truth.abs().max())


def _gflops(work: Callable[[], object]) -> float:
    with FlopCounterMode(display=False) as counter:
        work()
    return float(counter.get_total_flops()) / 1e9


def peak_gb(work: Callable[[], object]) -> float:
    """The most memory of the process while it works, beyond what it had before."""
    try:
        gc.collect()
        if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
            libc.malloc_trim(0)  # give back what is free, else it would not count again
        Path("/proc/self/clear_refs").write_text("5")  # the peak counts from now on
        before = _status_gb("VmRSS")
        work()
        return _status_gb("VmHWM") - before
    except OSError:
        return float("nan")


def _status_gb(field: str) -> float:
    match = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert match is not None
    return int(match.group(1)) * 1024 / 1e9


def shown(row: Row) -> str:
    return (
        f"{row.net:<20}{row.parameters / 1e6:7.1f} M  {row.ours_seconds:8.3f} s  {row.peer} "
        f"{row.peer_seconds:8.3f} s  ratio {row.ratio:6.2f} (goal {row.goal:.1f})  "
        f"difference {row.difference:.1e}  {row.ours_gflop:.2f} GFLOP for {row.peer_gflop:.2f}  "
        f"peak {row.ours_peak_gb:.2f} GB for {row.peer_peak_gb:.2f}  fallback {row.fallback}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--net", nargs="+", choices=[*NETS, *small_networks.CASES])
    parser.add_argument("--small", action="store_true", help="small networks with few inputs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--cpu-seconds",
        action="store_true",
        help="of the process; sensible with one thread, on a machine others use",
    )
    parser.add_argument("--out", type=Path, help="a folder for nets.parquet; its other nets stay")
    parser.add_argument(
        "--missing", action="store_true", help="only the nets of which --out has no row"
    )
    options = parser.parse_args()
    if options.missing and options.out is None:
        parser.error("--missing needs --out")
    warnings.filterwarnings("ignore", "There is a performance drop")
    kind = "processor seconds" if options.cpu_seconds else "seconds of the clock on the wall"
    threads = torch.get_num_threads()
    where = f"{threads} thread{'s' * (threads > 1)}, {kind}"
    print(f"torch {torch.__version__}, {where}", flush=True)
    clock = time.process_time if options.cpu_seconds else time.perf_counter
    has: set[str] = set()
    if options.missing and TABLE in (kept := read_timings(options.out)):
        has = {*kept[TABLE]["net"]}
    nets = options.net or [*(small_networks.CASES if options.small else NETS)]
    for name in (name for name in nets if name not in has):
        row = measured(name, options.rounds, clock)
        print(shown(row), flush=True)
        if options.out is not None:
            file = options.out / f"{TABLE}.parquet"
            write_timings([asdict(row)], file, __doc__, where, by="net")


if __name__ == "__main__":
    main()
