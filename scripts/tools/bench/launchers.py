"""What launchers cost: docs/measured/README.md has the numbers.

    python -m scripts.tools.bench.launchers sweep local 200 10 FOLDER    sweeps of runs that sleep
    python -m scripts.tools.bench.launchers sweep dask 200 10 FOLDER
    python -m scripts.tools.bench.launchers sweep dask 200 10 20 FOLDER  one killed every 20 s
    python -m scripts.tools.bench.launchers slurm 10000 FOLDER | head    a stand-in with its limits
    python -m scripts.tools.bench.launchers client 2000 FOLDER           processor time a run

Of a sweep it tells the seconds of the clock, since its 200 runs of 10 seconds sleep: what is left
on a busy machine is what starting, sending and going on again take. Two runs go on at once, as jobs
or as workers. Of what a sweep leaves it tells a checksum of all tables.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count as numbers
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar
from unittest.mock import patch

import numpy as np

from ntkexp.cli import main as ntkexp
from ntkexp.launch import slices
from ntkexp.options import count, not_negative, option
from ntkexp.results.table import Table, float64, int64
from ntkexp.scripts.tools.clusters import Cluster, cluster
from ntkexp.studies.base import Found, Part, Study

NAPS = 20
SBATCH = """#!/bin/sh
array=$(grep -o 'array=0-[0-9]*' "$1" | cut -d- -f2)
[ "${array:-0}" -le 1000 ] || { echo "Invalid job array specification" >&2; exit 1; }
echo "--array=0-$array" >> FOLDER/arrays
echo "Submitted batch job 7"
"""
SQUEUE = "#!/bin/sh\n[ -e FOLDER/ended ] || seq -f 7_%g 0 1000\n"
SCONTROL = "#!/bin/sh\necho 'MaxArraySize            = 1001'\n"


@dataclass
class Sleeping(Study):
    """A run that takes its time and no processor."""

    tables: ClassVar = (
        Table("naps", "What was drawn.", {"nap": int64("number"), "value": float64("drawn")}),
    )
    which: int = option(0, count("runs"), "tells runs apart")
    seconds: float = option(10.0, not_negative(), "how long it takes")

    def parts(self) -> Sequence[Part]:
        return [self._nap(nap) for nap in range(NAPS)]

    def _nap(self, nap: int) -> Part:
        def take() -> Found:
            time.sleep(self.seconds / NAPS)
            drawn = np.random.default_rng((self.which, nap)).normal()
            return {"naps": {"nap": [nap], "value": [drawn]}}

        return take


def words(runs: int, seconds: float) -> list[str]:
    study = "study=ntkexp.scripts.tools.bench.launchers.Sleeping"
    return [
        "study", "-m", study, f"study.which=range(1,{runs + 1})", f"study.seconds={seconds}",
        "checkpoint.every_seconds=1", "launcher.threads=1", "progress=false",
    ]  # fmt: skip


def sweep(how: str, runs: int, seconds: float, kill_seconds: float | None = None) -> None:
    with contextlib.ExitStack() as stack:
        launcher = ["launcher.jobs=2"]
        if how != "local":
            workers = stack.enter_context(cluster(Path("cluster").absolute()))
            stack.enter_context(disturbed(workers, kill_seconds))
            launcher = ["launcher=dask", f"launcher.address={workers.file}", "launcher.jobs=1"]
        began = time.monotonic()
        code = subprocess.run([sys.executable, "-m", "ntkexp", *words(runs, seconds), *launcher])
        took = time.monotonic() - began
    files = sorted(Path("outputs").glob("*/*/*.parquet"))
    sums = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    all_ = hashlib.sha256("".join(sums).encode()).hexdigest()[:12]
    print(f"{how}: code {code.returncode}, {took:.0f} s, {len(files)} tables, {all_}")


@contextlib.contextmanager
def disturbed(workers: Cluster, every_seconds: float | None) -> Iterator[None]:
    """Inside, one of two workers is killed and replaced, time after time."""
    over = threading.Event()

    def kill() -> None:
        for turn in numbers(1):
            if over.wait(every_seconds):
                break
            workers.kill(turn % 2)
            Path("kills.txt").write_text(f"{turn}")

    killer = threading.Thread(target=kill)
    if every_seconds:
        killer.start()
    try:
        yield
    finally:
        over.set()
        if every_seconds:
            killer.join()


def slurm(runs: int) -> None:
    """What is submitted, and how many status files are read a second while all of it waits."""
    folder = Path.cwd()
    for name, text in (("sbatch", SBATCH), ("squeue", SQUEUE), ("scontrol", SCONTROL)):
        (folder / name).write_text(text.replace("FOLDER", str(folder)))
        (folder / name).chmod(0o755)
    (folder / "srun").symlink_to("sbatch")
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
    reads, waits, waited = [0], [0], 60

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        reads[0] += event == "open" and str(arguments[0]).endswith("status.json")

    def wait(seconds: float) -> None:
        if waits[0] == 0:
            reads[0] = 0  # those of finding out what is done
        waits[0] += 1
        if waits[0] > waited:
            print((folder / "arrays").read_text().strip())
            print(f"{reads[0] / waited:.1f} status files read a look of {seconds} s")
            raise KeyboardInterrupt

    sys.addaudithook(watch)
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=wait)
    with patch("ntkexp.launch.slurm.time", clock):
        ntkexp([*words(runs, 0), "launcher=slurm"])


def answered(part: slices.Slice) -> bytes:
    """In a worker's place: a slice that takes no time."""
    from ntkexp.launch.job import Outcome

    plans, *_ = pickle.loads(part.work)
    return pickle.dumps(slices.Answer([(Outcome.finished, "", None)] * len(plans), 3.0, 60.0))


def client(runs: int) -> None:
    """The processor time of the client a run, for slices of one run."""
    from ntkexp.launch.dask import Dispatch
    from ntkexp.scripts.tools.bench.launchers import answered  # sent by its name

    spent, go = [0.0], Dispatch.go

    def timed(self: Dispatch) -> None:
        before = time.process_time()
        go(self)
        spent[0] = time.process_time() - before

    with cluster(Path("cluster").absolute()) as workers:
        launcher = ("launcher=dask", f"launcher.address={workers.file}", "launcher.runs=1")
        with patch.object(slices, "carry_out", answered), patch.object(Dispatch, "go", timed):
            ntkexp([*words(runs, 0), *launcher])
    print(f"{1e3 * spent[0] / runs:.2f} ms of the client a run")


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    Path(rest[-1]).mkdir(parents=True)
    os.chdir(rest.pop())
    if what == "sweep":
        sweep(rest[0], int(rest[1]), *map(float, rest[2:]))
    elif what == "slurm":
        slurm(int(rest[0]))
    else:
        client(int(rest[0]))
