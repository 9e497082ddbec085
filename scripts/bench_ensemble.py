"""Times sweeps of the network of Figure 13, as separate runs and as one ensemble.

    python scripts/bench_ensemble.py [--steps 2000] [--members 1 2 4 8 16 32] [--jobs 2]

Runs the real commands, on 10,000 MNIST and 1,000 random-label digits without probes, in a temporary
folder. `cpu` is the processor time of the whole command with all its jobs: on a machine that has
other work too it says more than the time that passed. `rate` is updates of one network a second of
`cpu` and core, start and end of the runs included.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SWEEP = (
    "+exp=easy_difficult_depth",
    "model.depth=6",
    "model.width=60",
    "~probe.alignment",
    "optim.epochs=null",
    "optim.stop_loss=null",
    "probing.spacing=list",
    "probing.steps=[0]",
    "progress=false",
)


def seconds_of(words: list[str], top: Path) -> tuple[float, float]:
    """Seconds that pass and seconds of processor time, of one command and all its children."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([sys.executable, "-m", "ntkexp", *words], cwd=top, check=True)
    passed, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return passed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(launcher: str, members: int, steps: int, extra: list[str]) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as top:
        words = [*SWEEP, f"optim.steps={steps}", f"seed=range({members})", f"launcher={launcher}"]
        return seconds_of(["train", "-m", *words, *extra], Path(top))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--members", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32])
    parser.add_argument("--launchers", nargs="+", default=["local", "ensemble"])
    parser.add_argument("--extra", nargs="*", default=["launcher.jobs=2", "device=cpu"])
    options = parser.parse_args()
    print(f"{'launcher':>9} {'members':>8} {'passed s':>9} {'cpu s':>8} {'rate /s':>9}")
    for launcher in options.launchers:
        for members in options.members:
            passed, cpu = measure(launcher, members, options.steps, options.extra)
            rate = members * options.steps / cpu
            print(f"{launcher:>9} {members:>8} {passed:>9.1f} {cpu:>8.1f} {rate:>9.0f}", flush=True)


if __name__ == "__main__":
    main()
