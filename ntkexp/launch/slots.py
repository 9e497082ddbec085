"""What the machine has for jobs: cores and GPUs, divided fairly."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from ntkexp.config import LauncherConfig

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class Slot:
    """Room for one job."""

    threads: int
    gpu: str | None


def slots(launcher: LauncherConfig, wanted: int, *, gpus: list[str]) -> list[Slot]:
    """Room for `launcher.jobs` at once: one a GPU where there are GPUs, else one a core.

    More jobs than GPUs share them in turn; fewer jobs than cores have several threads each.

    >>> slots(LauncherConfig(jobs=3, threads=1), 5, gpus=["0", "1"])[2]
    Slot(threads=1, gpu='0')
    """
    cores = cores_of_this_process()
    count = max(1, min(wanted, launcher.jobs or len(gpus) or cores))
    given = os.environ.get(THREADS[0], "")
    threads = launcher.threads or (int(given) if given.isdigit() else max(1, cores // count))
    return [Slot(threads, gpus[index % len(gpus)] if gpus else None) for index in range(count)]


def cores_of_this_process() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def visible_gpus() -> list[str]:
    """The GPUs this process may use, told without waking them: CUDA must start in the job."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return [gpu for gpu in chosen.split(",") if gpu not in ("", "-1")]
    devices = Path("/proc/driver/nvidia/gpus")
    return [str(index) for index, _ in enumerate(devices.iterdir())] if devices.is_dir() else []
