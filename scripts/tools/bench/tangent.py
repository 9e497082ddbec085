"""Time the tangent kernel engine against other ways to the same matrix.

    python scripts/tools/bench/tangent.py                every case: 30 minutes on two CPU cores
    python scripts/tools/bench/tangent.py --case vgg19-100     one case; --list names them
    python scripts/tools/bench/tangent.py --device cuda
    OMP_NUM_THREADS=1 python scripts/tools/bench/tangent.py --cpu-seconds    on a shared machine

Each case runs in a process of its own, so that its peak memory is its own. Ours and a peer
(peers.py) are both warm and take turns in it; medians are reported. Peers that are not
installed are named and left out; `pip install -e ".[peers,jax]"` brings all. The rate of the
machine's matrix product is measured in the same process, before and after; where the share of it is
what counts, before and after every run, and the run of the median share is reported.
"""

from __future__ import annotations

import argparse
import copy
import multiprocessing
import platform
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ntkexp.models import build
from ntkexp.models.base import Model
from ntkexp.models.mlp import Mlp
from ntkexp.models.resnet18 import Resnet18
from ntkexp.models.vgg import Vgg
from ntkexp.scripts.tools.bench.peers import PEERS, absent, in_turns
from ntkexp.scripts.tools.bench.timings import write_timings
from ntkexp.tangent import SharedForward, TangentKernel, tangent_kernel, tangent_trace
from ntkexp.training.device import resolve, set_precision, threads_or_gpu

CLASSES = 10
IMAGES = (3, 32, 32)
MATRIX = 4096

# `vgg19-average` has average pools, since neural-tangents has no rule for others.
NETS: dict[str, tuple[Model, tuple[int, ...]]] = {
    "vgg19-average": (Vgg(depth=19), IMAGES),
    "vgg19": (Vgg(depth=19), IMAGES),
    "vgg11": (Vgg(depth=11), IMAGES),
    "resnet18": (Resnet18(), IMAGES),
    "mlp": (Mlp(depth=6, width=80), (1, 28, 28)),
}


@dataclass(frozen=True)
class Setting:
    """The device and the clock of a measurement."""

    device: str
    cpu_seconds: bool


@dataclass
class Row:
    """One line of the table. `ratio` is the peer's seconds over ours, so more is better; for a
    peer that is no rival but a yardstick (a training step) it is ours over the peer's."""

    case: str
    ours_seconds: float
    peer: str
    peer_seconds: float
    ratio: float
    target: str
    difference: float
    peak_gb: float
    plan_tflop: float
    matrix_gflops: float
    share: float


class Bench:
    """One case's net and inputs, and the clock."""

    def __init__(self, net: str, examples: int, setting: Setting) -> None:
        config, shape = NETS[net]
        self.device = torch.device(setting.device)
        set_precision(self.device, tf32=False, deterministic=False)
        self.clock = time.process_time if setting.cpu_seconds else time.perf_counter
        model = build(config, shape, CLASSES, seed=0)
        if net.endswith("-average"):
            for name, module in model.named_children():
                if isinstance(module, nn.MaxPool2d):
                    model.set_submodule(name, nn.AvgPool2d(module.kernel_size))
        self.model = model.to(self.device).eval()
        draws = torch.Generator().manual_seed(0)
        if config.couples_examples():
            _settle_statistics(self.model, draws)
        self.inputs = torch.randn(examples, *shape, generator=draws).to(self.device)
        self.labels = torch.randint(CLASSES, (examples,), generator=draws).to(self.device)
        tangent_kernel(self.model, self.inputs[:2])
        self.matrix_rate = self._matrix_rate()

    def seconds(self, work: Callable[[], Any], repeats: int = 1) -> tuple[float, Any]:
        """The best of some runs, and the last result."""
        best, result = float("inf"), None
        for _ in range(repeats):
            result = None
            self._wait()
            began = self.clock()
            result = work()
            self._wait()
            best = min(best, self.clock() - began)
        return best, result

    def in_turn(
        self, ours: Callable[[], Any], theirs: Callable[[], Any], rounds: int, warm: bool = False
    ) -> tuple[float, float]:
        """Median seconds of each."""
        works = {"ours": partial(self.waited, ours), "theirs": partial(self.waited, theirs)}
        seconds = in_turns(works, rounds, self.clock, warm)
        return seconds["ours"], seconds["theirs"]

    def beside_products(self, work: Callable[[], Any], repeats: int) -> tuple[float, float, Any]:
        """Seconds of the run that stands in the middle, by seconds times the rate of the matrix
        products around it, that rate, and the last result: speed wavers from minute to minute."""
        runs, result = [], None
        rate = self._matrix_rate()
        for _ in range(repeats):
            result = None
            seconds, result = self.seconds(work)
            before, rate = rate, self._matrix_rate()
            runs.append((seconds, (before + rate) / 2))
        return *sorted(runs, key=lambda run: run[0] * run[1])[repeats // 2], result

    def row(
        self,
        case: str,
        ours: float,
        target: str,
        *,
        rate: float | None = None,
        kernel: TangentKernel | None = None,
        peer: str = "",
        peer_seconds: float = float("nan"),
        yardstick: bool = False,
        difference: float = float("nan"),
        peak_gb: float = float("nan"),
    ) -> Row:
        rate = rate or max(self.matrix_rate, self._matrix_rate())
        flops = kernel.plan.flops if kernel is not None else float("nan")
        return Row(
            case=case,
            ours_seconds=ours,
            peer=peer,
            peer_seconds=peer_seconds,
            ratio=ours / peer_seconds if yardstick else peer_seconds / ours,
            target=target,
            difference=difference,
            peak_gb=peak_gb,
            plan_tflop=flops / 1e12,
            matrix_gflops=rate / 1e9,
            share=flops / ours / rate,
        )

    def peak_gb(self) -> float:
        """The peak of the process on a CPU, of the allocator on a GPU; ask before a peer runs."""
        if self.device.type == "cuda":
            return torch.cuda.max_memory_allocated() / 1e9
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most * (1 if sys.platform == "darwin" else 1024) / 1e9

    def _matrix_rate(self) -> float:
        a = torch.randn(MATRIX, MATRIX, device=self.device)
        out = torch.empty_like(a)
        torch.mm(a, a, out=out)
        return 2 * MATRIX**3 / self.seconds(lambda: torch.mm(a, a, out=out), 3)[0]

    def waited(self, work: Callable[[], Any]) -> None:
        work()
        self._wait()

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()


def _settle_statistics(model: nn.Module, draws: torch.Generator) -> None:
    """Running statistics of a net that has seen data, not 0 and 1."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.copy_(torch.randn(module.running_mean.shape, generator=draws) / 10)
            module.running_var.copy_(torch.rand(module.running_var.shape, generator=draws) + 0.5)


def against(
    case: str, net: str, n: int, peer: str, target: str, repeats: int, setting: Setting
) -> Row:
    """Both warm and in turns; a tool that cannot take the net says why in its place."""
    bench = Bench(net, n, setting)
    kernel = tangent_kernel(bench.model, bench.inputs)
    peak = bench.peak_gb()
    theirs = copy.deepcopy(bench.model)  # backpack leaves its mark on a model
    try:
        gram = PEERS[peer][1](theirs, bench.inputs)
    except (RuntimeError, NotImplementedError, AttributeError, TypeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        ours, _ = bench.seconds(lambda: tangent_kernel(bench.model, bench.inputs), repeats)
        return bench.row(
            case, ours, target, kernel=kernel, peer=f"{peer} fails: {reason}", peak_gb=peak
        )
    difference = float((kernel.gram - gram).abs().max() / gram.abs().max())
    del gram
    ours, peer_seconds = bench.in_turn(
        lambda: tangent_kernel(bench.model, bench.inputs),
        lambda: PEERS[peer][1](theirs, bench.inputs),
        repeats,
        warm=True,
    )
    return bench.row(
        case,
        ours,
        target,
        kernel=kernel,
        peer=peer,
        peer_seconds=peer_seconds,
        difference=difference,
        peak_gb=peak,
    )


def alone(case: str, net: str, n: int, target: str, repeats: int, setting: Setting) -> Row:
    """Our kernel alone, checked by one backward: y^T K y = |grad sum y f|^2."""
    bench = Bench(net, n, setting)
    ours, rate, kernel = bench.beside_products(
        lambda: tangent_kernel(bench.model, bench.inputs), repeats
    )
    peak = bench.peak_gb()
    y = nn.functional.one_hot(bench.labels, CLASSES).to(kernel.gram) - 1 / CLASSES
    grads = torch.autograd.grad((bench.model(bench.inputs) * y).sum(), [*bench.model.parameters()])
    square = sum(float(grad.double().square().sum()) for grad in grads)
    form = float(y.flatten().double() @ kernel.gram.double() @ y.flatten().double())
    return bench.row(
        case,
        ours,
        target,
        rate=rate,
        kernel=kernel,
        difference=abs(form / square - 1),
        peak_gb=peak,
    )


def layers_too(case: str, net: str, n: int, target: str, repeats: int, setting: Setting) -> Row:
    bench = Bench(net, n, setting)
    kernel = tangent_kernel(bench.model, bench.inputs)
    ours, total = bench.in_turn(
        lambda: tangent_kernel(bench.model, bench.inputs),
        lambda: tangent_kernel(bench.model, bench.inputs, layers=False),
        repeats,
    )
    return bench.row(
        case,
        ours,
        target,
        kernel=kernel,
        peer="the total alone",
        peer_seconds=total,
        yardstick=True,
        peak_gb=bench.peak_gb(),
    )


def exact_trace(case: str, net: str, n: int, target: str, repeats: int, setting: Setting) -> Row:
    bench = Bench(net, n, setting)
    tangent_trace(bench.model, bench.inputs)
    peak = bench.peak_gb()
    parameters = [*bench.model.parameters()]

    def full_backwards() -> None:
        values = bench.model(bench.inputs)
        for c in range(CLASSES):
            torch.autograd.grad(values[:, c].sum(), parameters, retain_graph=True)

    ours, theirs = bench.in_turn(
        lambda: tangent_trace(bench.model, bench.inputs), full_backwards, repeats
    )
    few = bench.inputs[:10]
    kernel = tangent_kernel(bench.model, few).gram.double().trace()
    difference = abs(float(tangent_trace(bench.model, few) / kernel) - 1)
    return bench.row(
        case,
        ours,
        target,
        peer="c full backwards",
        peer_seconds=theirs,
        yardstick=True,
        difference=difference,
        peak_gb=peak,
    )


def sign_estimate(case: str, net: str, n: int, target: str, repeats: int, setting: Setting) -> Row:
    """An SGD step with the estimate on its forward, over the step alone; the difference is the
    relative standard deviation of one draw, over 40 draws on at most 20 inputs."""
    bench = Bench(net, n, setting)
    optimiser = torch.optim.SGD(bench.model.parameters(), lr=1e-9, momentum=0.9)
    shared = SharedForward(bench.model)
    draws = torch.Generator().manual_seed(0)

    def step(estimate: bool) -> None:
        optimiser.zero_grad()
        if estimate:
            with shared:
                outputs = bench.model(bench.inputs)
            shared.trace(outputs, bench.inputs, draws)
        else:
            outputs = bench.model(bench.inputs)
        nn.functional.cross_entropy(outputs, bench.labels).backward()
        optimiser.step()

    ours, alone_seconds = bench.in_turn(lambda: step(True), lambda: step(False), repeats + 4)
    few = bench.inputs[:20]
    estimates = torch.stack([shared.run(few, draws) for _ in range(40)])
    return bench.row(
        case,
        ours,
        target,
        peer="the step alone",
        peer_seconds=alone_seconds,
        yardstick=True,
        difference=float(estimates.std() / estimates.mean()),
        peak_gb=bench.peak_gb(),
    )


MLP_TARGETS = {"nngeometry": "20 x", "torch.func": "5 x"}
CASES: dict[str, Callable[..., Row]] = {
    **{
        f"mlp-100-{peer}": partial(
            against, net="mlp", n=100, peer=peer, target=MLP_TARGETS.get(peer, "1 x"), repeats=5
        )
        for peer in PEERS
    },
    **{
        f"vgg19-5-{peer}": partial(against, net="vgg19", n=5, peer=peer, target="1 x", repeats=3)
        for peer in ("torch.func", "backpack", "curvlinops")
    },
    "vgg19-average-5-neural-tangents": partial(
        against, net="vgg19-average", n=5, peer="neural-tangents", target="1 x", repeats=3
    ),
    "layers-too": partial(layers_too, net="vgg19", n=20, target="1.05 x the total", repeats=3),
    "vgg19-100": partial(alone, net="vgg19", n=100, target="4 GB, 75 % of 2.5 TFLOP", repeats=5),
    "resnet18-100": partial(alone, net="resnet18", n=100, target="5 GB, 65 %", repeats=5),
    "trace-vgg19-100": partial(
        exact_trace, net="vgg19", n=100, target="1.2 x c backwards", repeats=2
    ),
    "signs-vgg19-100": partial(
        sign_estimate, net="vgg19", n=100, target="1.6 x a step; spread 1.5 to 6 %", repeats=3
    ),
    "signs-vgg11-100": partial(
        sign_estimate, net="vgg11", n=100, target="1.6 x a step; spread 1.5 to 6 %", repeats=3
    ),
    "vgg11-20-nngeometry": partial(
        against, net="vgg11", n=20, peer="nngeometry", target="150 x", repeats=1
    ),
    "vgg19-10-nngeometry": partial(
        against, net="vgg19", n=10, peer="nngeometry", target="300 x", repeats=1
    ),
}


def run(case: str, setting: Setting) -> Row:
    return CASES[case](case, setting=setting)


def shown(row: Row) -> str:
    line = f"{row.case:<22}{row.ours_seconds:9.3f} s"
    if row.peer:
        line += f"   {row.peer} {row.peer_seconds:.3f} s, ratio {row.ratio:.2f}"
    if row.difference == row.difference:
        line += f"   difference {row.difference:.1e}"
    line += f"   peak {row.peak_gb:.2f} GB"
    if row.plan_tflop == row.plan_tflop:
        line += f"   {row.plan_tflop:.4f} TFLOP at {100 * row.share:.0f} %"
        line += f" of {row.matrix_gflops:.0f} GFLOP/s"
    return f"{line}   (target {row.target})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", nargs="+", choices=CASES, default=[*CASES])
    parser.add_argument("--list", action="store_true", help="name the cases and stop")
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--cpu-seconds",
        action="store_true",
        help="of the process, not of the clock on the wall; sensible with one thread",
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="default: outputs/bench, none for some cases; other cases there stay",
    )
    options = parser.parse_args()
    if options.list:
        print("\n".join(CASES))
        return
    where = threads_or_gpu(resolve(options.device))
    print(f"torch {torch.__version__}, {where}, {platform.machine()}", flush=True)
    setting = Setting(options.device, options.cpu_seconds)
    whole = options.case == [*CASES]
    out = options.out or (Path("outputs/bench") if whole else None)
    rows = []
    spawn = multiprocessing.get_context("spawn")
    missing = absent()
    for name in missing:
        print(f"{name}: not installed, left out (pip install -e '.[peers,jax]')", flush=True)
    cases = [case for case in options.case if not any(case.endswith(f"-{m}") for m in missing)]
    for case in cases:
        with ProcessPoolExecutor(1, mp_context=spawn) as pool:
            rows.append(pool.submit(run, case, setting).result())
        print(shown(rows[-1]), flush=True)
        if out is not None:
            timings = [asdict(row) for row in rows]
            write_timings(timings, out / "tangent.parquet", __doc__, where, by="case")


if __name__ == "__main__":
    main()
