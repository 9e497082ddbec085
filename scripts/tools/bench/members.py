"""Time many networks of Figure 13, as the runs of a sweep and as the members of one run.

    python scripts/tools/bench/members.py [--steps 2000] [--members 1 2 4 8 16 32] [--jobs 2]

Runs the real commands, on 10,000 MNIST and 1,000 random-label digits without probes, in a temporary
folder, each twice: for a tenth of the steps and for all. `updates /s` is updates of one network a
second of the difference, without starting up, loading, evaluating and writing; `whole /s` is those
of the long command with all of that in.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ntkexp.scripts.tools.bench.timings import write_timings

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


def seconds_of(words: list[str]) -> float:
    with tempfile.TemporaryDirectory() as top:
        began = time.monotonic()
        command = [sys.executable, "-m", "ntkexp", "train", *words]
        done = subprocess.run(command, cwd=top, capture_output=True, text=True)
        if done.returncode:
            sys.stderr.write(done.stdout + done.stderr)
            raise SystemExit(done.returncode)
        return time.monotonic() - began


def ways(members: int) -> dict[str, list[str]]:
    """The words that train so many networks, as a sweep and as one run."""
    return {
        "local": ["-m", f"seed=range({members})"],
        "members": [f"members={{seed: range({members})}}"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--members", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32])
    parser.add_argument("--launchers", nargs="+", default=["local", "members"])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path("outputs/bench"))
    options = parser.parse_args()
    common = [*SWEEP, f"launcher.jobs={options.jobs}", f"device={options.device}"]
    rows = []
    print(f"{'launcher':>9} {'members':>8} {'seconds':>8} {'updates /s':>11} {'whole /s':>9}")
    # The launchers take turns: the machine's speed wavers, what is compared should be side by side.
    for members in options.members:
        for launcher in options.launchers:
            words = [*ways(members)[launcher], *common]
            short, long = (
                seconds_of([*words, f"optim.steps={steps}"])
                for steps in (options.steps // 10, options.steps)
            )
            rate = members * (options.steps - options.steps // 10) / (long - short)
            whole = members * options.steps / long
            rows.append(
                {
                    "launcher": launcher,
                    "members": members,
                    "seconds": long,
                    "updates_per_second": rate,
                    "whole_per_second": whole,
                }
            )
            print(
                f"{launcher:>9} {members:>8} {long:>8.1f} {rate:>11.0f} {whole:>9.0f}", flush=True
            )
    where = f"{options.jobs} jobs on {options.device}"
    write_timings(rows, options.out / "ensemble.parquet", __doc__, where)


if __name__ == "__main__":
    main()
