"""What kernels of many inputs cost, by blocks of rows, in memory, and without the kernel.

    NTKEXP_DATA=... python -m scripts.tools.bench.large_kernels CASE ... [--folder FOLDER]

eigenpairs   200 leading pairs of 20,000 digits: by blocks of rows that are there, and in memory
memory       the most memory of a run of kernel_rows, of small and large blocks of 60,000 digits
operator     K X with 32 columns, of 100,000 and of a million made-up inputs in a map of a file
workers      12 blocks of rows by one job at a time and by two: seconds, and processor seconds

The network is an MLP 784-100-100-1. All but `workers` is processor time, of one thread; what one
case makes in FOLDER the next call takes as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import ntkexp.results
from ntkexp import models
from ntkexp.data.mnist import Mnist
from ntkexp.models.base import Init
from ntkexp.models.mlp import Mlp
from ntkexp.tangent import TangentFeatures, leading_eigenpairs
from ntkexp.tangent.row_blocks import RowBlocks
from ntkexp.tangent.stored_factors import StoredFactors

DIGITS, PAIRS, COLUMNS = 20_000, 200, 32
NETWORK = Mlp(depth=2, width=100, init=Init.lecun)
STUDY = (
    "study=kernel_rows", "+data@study.data=mnist", "+model@study.network=mlp",
    "study.network.depth=2", "study.network.width=100", "study.network.init=lecun",
    "study.network_outputs=1", "progress=false", "device=cpu",
)  # fmt: skip


def network() -> torch.nn.Module:
    return models.build(NETWORK, (1, 28, 28), 1, seed=0).eval()


def study(folder: Path, name: str, *words: str) -> tuple[float, float, int]:
    """Seconds, processor seconds and the most bytes of a process, of the runs of a sweep."""
    command = [sys.executable, "-m", "ntkexp", "study", "-m", *STUDY, f"name={name}", *words]
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)}: failed")
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime, 1024 * usage.ru_maxrss


def told(case: str, folder: Path) -> dict[str, Any]:
    """What a case says, carried out by a process of its own."""
    command = [sys.executable, "-m", __spec__.name, case, "--folder", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    content = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{case}: failed")
    return {**json.loads(content), "gigabytes": 1024 * usage.ru_maxrss / 1e9}


def eigenpairs(folder: Path) -> None:
    words = (f"study.data.train_examples={DIGITS}", "study.block=range(0,20)", "launcher.jobs=1")
    study(folder, "digits", *words)
    found = {way: told(way, folder) for way in ("_in_memory", "_by_blocks") * 2}
    seconds = {way: facts["seconds"] for way, facts in found.items()}
    values = [np.array(facts["values"]) for facts in found.values()]
    off = np.abs(values[1] / values[0] - 1).max()
    print(
        f"{PAIRS} eigenpairs of {DIGITS:,} digits: in memory {seconds['_in_memory']:.1f} s, by "
        f"blocks {seconds['_by_blocks']:.1f} s, {seconds['_by_blocks'] / seconds['_in_memory']:.2f}"
        f" times; values differ by {off:.1g}; {found['_in_memory']['gigabytes']:.1f} and "
        f"{found['_by_blocks']['gigabytes']:.1f} GB"
    )


def _pairs_of(make: Callable[[], Any]) -> None:
    began = time.process_time()
    pairs = leading_eigenpairs(make(), PAIRS)
    facts = {"seconds": time.process_time() - began, "values": pairs.values.tolist()}
    print(json.dumps(facts))


def _in_memory(folder: Path) -> None:
    data = Mnist(train_examples=DIGITS).build(0, torch.device("cpu"), progress=False)
    _pairs_of(lambda: RowBlocks.triangle(StoredFactors.of(network(), data.train.inputs)))


def _by_blocks(folder: Path) -> None:
    _pairs_of(lambda: ntkexp.results.kernel(folder / "outputs" / "digits"))


def memory(folder: Path) -> None:
    found = {}
    for rows in (10, 1000, 3000):
        last = 60_000 // rows - 1
        _, _, peak = study(folder, f"rows{rows}", f"study.rows={rows}", f"study.block={last}")
        found[rows] = peak
        print(f"last block of {rows:,} rows, {rows * 60_000 * 4 / 1e9:.2f} GB: {peak / 1e9:.2f} GB")
    for few, many in ((10, 1000), (1000, 3000)):
        more = (found[many] - found[few]) / ((many - few) * 60_000 * 4)
        print(f"a byte more of a block takes {more:.2f} bytes more")


def operator(folder: Path) -> None:
    found = {}
    for count in (100_000, 1_000_000):
        file = folder / f"{count}.npy"
        if not file.exists():
            made = np.lib.format.open_memmap(file, "w+", np.float32, (count, 1, 28, 28))
            drawn = np.random.default_rng(0)
            for start in range(0, count, 10_000):
                made[start : start + 10_000] = drawn.standard_normal((10_000, 1, 28, 28))
            del made
        found[count] = told(f"_operator_{count}", folder)
        print(f"{count:>9,} inputs: {found[count]}")
    for what in ("factors", "product", "both"):
        ratio = found[1_000_000][what] / found[100_000][what]
        print(f"{what}: a million over 100,000 {ratio:.1f}")


def _operator(folder: Path, count: int) -> None:
    inputs = torch.from_numpy(np.load(folder / f"{count}.npy", mmap_mode="c"))
    x = torch.randn(count, COLUMNS, generator=torch.Generator().manual_seed(0))
    began = time.process_time()
    kernel = TangentFeatures(network()).operator(inputs, stored=True)
    made = time.process_time()
    kernel @ x
    done = time.process_time()
    # What is mapped of the inputs' file the system may take back.
    [own] = re.findall(r"RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text())
    facts = {"stored": kernel.stored is not None, "own_gigabytes": 1024 * int(own) / 1e9}
    seconds = {"factors": made - began, "product": done - made, "both": done - began}
    print(json.dumps({**facts, **seconds}))


def workers(folder: Path) -> None:
    found = {}
    for jobs in (1, 2):
        name = f"jobs{jobs}"
        shutil.rmtree(folder / "outputs" / name, ignore_errors=True)
        blocks = ("study.rows=500", "study.block=range(108,120)")
        found[jobs] = study(folder, name, *blocks, f"launcher.jobs={jobs}")
        seconds, cpu, _ = found[jobs]
        print(f"{jobs} at a time: {seconds:.1f} s, {cpu:.1f} processor seconds")
    print(f"two workers over one: {found[1][0] / found[2][0]:.2f} times as fast")


CASES = {case.__name__: case for case in (eigenpairs, memory, operator, workers)}
PARTS: dict[str, Callable[[Path], None]] = {
    "_in_memory": _in_memory,
    "_by_blocks": _by_blocks,
    "_operator_100000": lambda folder: _operator(folder, 100_000),
    "_operator_1000000": lambda folder: _operator(folder, 1_000_000),
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("cases", nargs="+", choices=[*CASES, *PARTS], metavar="CASE")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/large_kernels"))
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for case in chosen.cases:
        {**CASES, **PARTS}[case](chosen.folder)
