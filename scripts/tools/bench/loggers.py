"""The cost of loggers for a run of the MLP on MNIST: their calls against the steps between them.

    python scripts/tools/bench/loggers.py tensorboard wandb    a minute each

The two take turns within one run, so that what else the machine does slows both alike.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
import time
from dataclasses import dataclass

from ntkexp.compose.finalise import plan_of
from ntkexp.execution.prepare import prepare
from ntkexp.execution.run import begin, loop_of
from ntkexp.loggers.mirror import Mirror, mirror_for
from ntkexp.results import Run
from ntkexp.scripts.tools.bench.configs import composed

OFFLINE = {"wandb": "logger.wandb.mode=offline"}


@dataclass
class Spent:
    """Seconds on the wall and of this process, all its threads."""

    wall: float = 0.0
    processor: float = 0.0
    calls: int = 0

    @contextlib.contextmanager
    def counted(self):
        wall, processor = time.perf_counter(), time.process_time()
        yield
        self.wall += time.perf_counter() - wall
        self.processor += time.process_time() - processor
        self.calls += 1


class Timed(Mirror):
    spent = Spent()

    def catch_up(self) -> None:
        with self.spent.counted():
            super().catch_up()


def measure(name: str, steps: int, every_seconds: float, outputs: str) -> str:
    words = ["+exp=mlp_mnist", f"optim.steps={steps}", "optim.stop_loss=null", "probe=[]",
             "progress=false", "device=cpu", f"checkpoint.every_seconds={every_seconds}",
             f"paths.outputs={outputs}", f"logger=[{name}]"]  # fmt: skip
    words += [OFFLINE[name]] if name in OFFLINE else []
    plan = plan_of(composed(words, typed=frozenset({"optim.steps"})))
    ready, whole = prepare(plan), Spent()
    with Run(plan.folder, ready.tables) as run, contextlib.redirect_stdout(io.StringIO()):
        begin(run, plan, ready)
        mirror = mirror_for(plan.config, run)
        mirror.__class__ = Timed
        with mirror:
            Timed.spent = Spent()
            loop = loop_of(ready, run, plan, None, mirror)
            with whole.counted():
                loop.go(lambda: False)
    spent = Timed.spent
    return (
        f"{name}: {steps} steps, {spent.calls} commits; "
        f"{100 * spent.wall / (whole.wall - spent.wall):.2f} % of the time, "
        f"{100 * spent.processor / (whole.processor - spent.processor):.2f} % of the processor's; "
        f"{1e6 * spent.processor / steps:.0f} of {1e6 * whole.processor / steps:.0f} us a step"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loggers", nargs="+")
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--every", type=float, default=5.0, help="seconds between commits")
    options = parser.parse_args()
    for name in options.loggers:
        with tempfile.TemporaryDirectory() as outputs:
            print(measure(name, options.steps, options.every, outputs), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
