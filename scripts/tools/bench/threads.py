"""Time steps and kernels with one thread and with all, idle and beside busy processes.

    python scripts/tools/bench/threads.py              half an hour on two idle cores (not measured)
    python scripts/tools/bench/threads.py --case disk mlp    some cases; --list names them
    python scripts/tools/bench/threads.py --seconds 1 --rounds 3

Every case runs three ways: one thread; several, as many as ntkexp chooses (a thread a core where
it chooses one), that soon sleep where they wait; a thread a core, spinning, as ntkexp had it
before. A way is a process that loads once and works when it is told, for some seconds and one step
at least. The ways take turns in every round, first idle, then beside as many busy processes as
there are cores; ratios are medians over the rounds, within a round. It ends with the table of
docs/measured/threads.md.

`against before`: the chosen way's speed over that of the spinning threads, both idle; 0.95 is
asked for. `kept beside`: the chosen way's speed beside over its own idle; 0.25 is asked for.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from ntkexp.execution import threads

if TYPE_CHECKING:
    from omegaconf import DictConfig

QUIET = (
    "optim.stop_loss=null",
    "optim.epochs=null",
    "optim.steps=100000",
    "data.test_examples=1000",
    "probing.spacing=linear",
    "progress=false",
    "device=cpu",
    "checkpoint.every_seconds=1e9",
)
UNWATCHED = ("probe=[]", "probing.every=100000")
VGG19 = ("+exp=vgg19_noise50", "data.train_examples=2000", *UNWATCHED)
# What is timed, the words that make it, and whether that is a step or a kernel.
CASES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "disk": ("disk, probes every 50 steps", ("+exp=disk", "probing.every=50"), "step"),
    "mlp": ("MLP 6 x 80, no probes", ("+exp=mlp_mnist", *UNWATCHED), "step"),
    "mlp-probes": (
        "MLP 6 x 80, probes every 50 steps",
        ("+exp=mlp_mnist", "probing.every=50"),
        "step",
    ),
    "vgg19-16": ("VGG19, 16 channels, batch 100", (*VGG19, "model.base=16"), "step"),
    "kernel-vgg19-16": ("kernel, VGG19, 16 channels, n = 100", (*VGG19, "model.base=16"), "kernel"),
    "vgg19": ("VGG19, 64 channels, batch 100", VGG19, "step"),
    "kernel-vgg19": ("kernel, VGG19, 64 channels, n = 100", VGG19, "kernel"),
}
WITHOUT_TEST_IMAGES = {"disk"}
SLEEPING = threads.WAITING
# It ends by itself when the bench is killed.
BUSY = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"


@dataclass(frozen=True)
class Way:
    name: str
    threads: int
    environment: dict[str, str]


@dataclass
class Row:
    """Steps (or kernels) a second of each way, and how the way that ntkexp chooses does."""

    case: str
    one_idle: float
    several_idle: float
    spinning_idle: float
    one_beside: float
    several_beside: float
    spinning_beside: float
    several_over_one_idle: float
    chosen_threads: int
    against_before: float
    kept_beside: float


def words_of(case: str) -> list[str]:
    kept = (word for word in QUIET if not (case in WITHOUT_TEST_IMAGES and "test_" in word))
    return [*CASES[case][1], *kept]


class Turns:
    """Asked before every step whether to stop: counts the steps of a turn, tells their rate when
    its seconds are over, and waits for the next line with a number of seconds."""

    def __init__(self) -> None:
        self.steps, self.began, self.seconds = -1, time.perf_counter(), 0.0
        self.warm = False

    def __call__(self) -> bool:
        self.steps += 1
        now = time.perf_counter()
        if self.steps == 0 or now - self.began < self.seconds:
            return False
        print(self.steps / (now - self.began) if self.warm else "ready", flush=True)
        line = sys.stdin.readline()
        self.warm, self.steps = True, 0
        self.seconds, self.began = float(line or 0), time.perf_counter()
        return not line


def work(case: str, number: int) -> None:
    """The process of a way: steps of the training loop with the looks that are due between them,
    or kernels of 100 images, until nobody asks for more."""
    from omegaconf import OmegaConf

    from ntkexp.config import TrainConfig
    from ntkexp.errors import Interrupted
    from ntkexp.results import Run
    from ntkexp.tangent import tangent_kernel
    from ntkexp.training import experiment, supervised
    from ntkexp.training.loop import Loop

    plain = OmegaConf.to_object(composed(case))
    assert isinstance(plain, TrainConfig)
    threads.use(number)
    ready = experiment.prepare(plain)
    assert isinstance(ready.work, supervised.Supervised)
    # So that the loop asks after every step.
    supervised.BURST_SECONDS = 0.0
    with (
        tempfile.TemporaryDirectory() as folder,
        Run(Path(folder, "run"), ready.tables) as run,
        contextlib.suppress(Interrupted),
    ):
        run.begin("", {})
        if CASES[case][2] == "step":
            Loop(ready.work, run, looks=ready.looks, probes=ready.probes).go(Turns())
            return
        images, turns = ready.work.dataset.train.inputs[:100], Turns()
        while not turns():
            tangent_kernel(ready.work.model.eval(), images)


def composed(case: str) -> DictConfig:
    """The config of a case."""
    from ntkexp.scripts.tools.bench import configs

    return configs.composed(words_of(case))


class Worker:
    """A way at work, seen from outside."""

    def __init__(self, case: str, way: Way) -> None:
        variables = {*threads.WAITING, "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}
        clean = {name: value for name, value in os.environ.items() if name not in variables}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--work", case, "--threads", str(way.threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=clean | way.environment,
        )
        self._answer()

    def rate(self, seconds: float) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            with self.process:  # closes its pipes, waits for its end
                pass
            raise SystemExit(self.process.returncode or 1)
        return line

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *ignored: object) -> None:
        with self.process:  # closes its pipes, waits for its end
            self.process.kill()


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Meanwhile so many processes each want a core."""
    running = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(processes)]
    try:
        time.sleep(0.5)
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


Rates = dict[str, list[float]]


def measured(
    case: str, ways: Sequence[Way], beside: int, rounds: int, seconds: float
) -> tuple[Rates, Rates]:
    """The speed of every way in every round, idle and beside so many busy processes."""
    with ExitStack() as stack:
        workers = {way.name: stack.enter_context(Worker(case, way)) for way in ways}
        rates: list[Rates] = []
        for others in (0, beside):
            with busy(others):
                turns = [
                    {name: worker.rate(seconds) for name, worker in workers.items()}
                    for _ in range(rounds)
                ]
            rates.append({name: [turn[name] for turn in turns] for name in workers})
    return rates[0], rates[1]


def row(case: str, cores: int, rounds: int, seconds: float) -> Row:
    number = threads.wanted(composed(case)).number
    several = cores if number == 1 else number
    ways = (
        Way("one", 1, SLEEPING),
        Way("several", several, SLEEPING),
        Way("spinning", cores, {}),
    )
    idle, beside = measured(case, ways, cores, rounds, seconds)
    chosen = "one" if number == 1 else "several"
    alone, among = ({name: median(rates[name]) for name in rates} for rates in (idle, beside))
    return Row(
        case=CASES[case][0],
        one_idle=alone["one"],
        several_idle=alone["several"],
        spinning_idle=alone["spinning"],
        one_beside=among["one"],
        several_beside=among["several"],
        spinning_beside=among["spinning"],
        several_over_one_idle=ratio(idle["several"], idle["one"]),
        chosen_threads=number,
        against_before=ratio(idle[chosen], idle["spinning"]),
        kept_beside=among[chosen] / alone[chosen],
    )


def ratio(first: Sequence[float], second: Sequence[float]) -> float:
    """The median of the ratios within rounds."""
    return median(a / b for a, b in zip(first, second, strict=True))


def table(rows: Sequence[Row], cores: int) -> str:
    """The rows as docs/measured/threads.md shows them."""
    head = ("1 thread", "several, sleeping", f"{cores}, spinning")
    titles = ["steps or kernels / s", *(f"{name}, idle" for name in head)]
    titles += [*(f"{name}, beside" for name in head), "chosen", "against before", "kept beside"]
    lines = [titles, ["---"] * len(titles)]
    for row in rows:
        cells = list(asdict(row).values())
        del cells[7]  # several_over_one_idle, which the reader can see
        lines.append([cell if isinstance(cell, str) else f"{cell:.3g}" for cell in cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", nargs="+", choices=CASES, default=[*CASES])
    parser.add_argument("--list", action="store_true", help="name the cases and stop")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of a turn, one step at least")
    parser.add_argument("--out", type=Path, help="default: outputs/bench, none for some cases")
    parser.add_argument("--work", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.list:
        print("\n".join(CASES))
        return 0
    if options.work:
        with contextlib.redirect_stderr(io.StringIO()):
            work(options.work, options.threads)
        return 0
    os.environ.pop("OMP_NUM_THREADS", None)
    from ntkexp.scripts.tools.bench.timings import write_timings

    cores = threads.cores()
    whole = options.case == [*CASES]
    out = options.out or (Path("outputs/bench") if whole else None)
    rows: list[Row] = []
    for case in options.case:
        rows.append(row(case, cores, options.rounds, options.seconds))
        print("  ".join(f"{key} {value}" for key, value in asdict(rows[-1]).items()), flush=True)
        if out is not None:
            timings = [asdict(r) for r in rows]
            write_timings(timings, out / "threads.parquet", __doc__, f"1 and {cores} threads")
    print(table(rows, cores))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
