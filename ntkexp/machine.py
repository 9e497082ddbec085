"""The cores, the memory and the GPUs of this machine, asked before any work.

PyTorch is imported to compute on a GPU only.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ntkexp.errors import UserError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

MEMBERSHIP, CGROUPS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
# Types of torch.device: graphs, random states and budgets are those of CUDA. AMD's build of PyTorch
# calls its GPUs "cuda", too.
GPU_TYPES = {"cuda"}
SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>
_given = False


def cores() -> int:
    """The number of cores this process may keep busy, by its affinity and its container's quota."""
    if sys.platform == "linux":
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    granted = quota()
    return allowed if granted is None else max(1, min(allowed, int(granted)))


def quota(membership: Path = MEMBERSHIP, mounted: Path = CGROUPS) -> float | None:
    """The cores that the container's processes may use together; None where there is no limit.

    cgroup v2 has `cpu.max`, "quota period" in microseconds; v1 has `cpu.cfs_quota_us`, -1 for no
    limit, and `cpu.cfs_period_us`. The tightest group holds.
    """
    granted = [_cores_of(group) for group in _control_groups("cpu", membership, mounted)]
    return min((limit for limit in granted if limit is not None), default=None)


def available_bytes() -> int:
    """The memory that a new process could take: the machine's, within the container's limit."""
    return min([_free_bytes(), *map(_bytes_of, _control_groups("memory", MEMBERSHIP, CGROUPS))])


def _control_groups(controller: str, membership: Path, mounted: Path) -> Iterator[Path]:
    """The group of this process and every group above it, of version 2 and of version 1.

    In a container the group's own path may be the host's: then the root that is mounted is its
    limit.
    """
    try:
        lines = membership.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            roots = [mounted, mounted / "unified"]
        elif controller in controllers.split(","):
            roots = [mounted / controllers, mounted / controller]
        else:
            continue
        group = Path(path.lstrip("/"))
        yield from (root / above for root in roots for above in (group, *group.parents))


def _cores_of(group: Path) -> float | None:
    try:
        if (group / "cpu.max").exists():
            allowed, period = (group / "cpu.max").read_text(encoding="utf-8").split()
        else:
            allowed = (group / "cpu.cfs_quota_us").read_text(encoding="utf-8").strip()
            period = (group / "cpu.cfs_period_us").read_text(encoding="utf-8")
    except OSError:
        return None
    return None if allowed in ("max", "-1") else int(allowed) / int(period)


def _bytes_of(group: Path) -> int:
    for name in ("memory.max", "memory.limit_in_bytes"):
        try:
            return int((group / name).read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue  # no such group seen from here, or "max": no limit
    return sys.maxsize


def _free_bytes() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        [line] = [line for line in lines if line.startswith("MemAvailable:")]
        return int(line.split()[1]) * 1024
    except (OSError, ValueError):  # not Linux
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def refuse_beyond(key: str, wanted: str, needed_bytes: float, room_bytes: float) -> None:
    """Refuse the value of `key` (`model.width=10000000`) when `wanted` does not fit."""
    if needed_bytes > room_bytes:
        raise UserError(
            f"{key}: needs {needed_bytes / 2**30:.3g} GiB of memory for {wanted}, "
            f"there are {room_bytes / 2**30:.3g} GiB; expected a smaller one"
        )


def on_gpu(device: torch.device) -> bool:
    """True for a GPU. Every branch for GPUs asks here."""
    return device.type in GPU_TYPES


def visible_gpus(root: Path = Path("/")) -> list[str]:
    """The GPUs this process may use, told without waking them: CUDA must start in the job.

    NVIDIA's driver lists its GPUs below /proc, AMD's below /sys, where a processor has the id 0.
    In WSL2 there is a library in their place, which does not tell how many: one is assumed.
    """
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return [gpu for gpu in chosen.split(",") if gpu not in ("", "-1")]
    nodes = root.glob("sys/class/kfd/kfd/topology/nodes/*/gpu_id")
    count = (
        len([*root.glob("proc/driver/nvidia/gpus/*")])
        or sum(node.read_text(encoding="ascii").strip() != "0" for node in nodes)
        or len([*root.glob("usr/lib/wsl/lib/libcuda.so")])
    )
    return [str(index) for index in range(count)]


def gpus_for(device: str) -> list[str]:
    """The GPUs that the jobs of a sweep share: for `cuda:1` the second one alone."""
    gpus = [] if device == "cpu" else visible_gpus()
    number = device.removeprefix("cuda:")
    if not gpus or not number.isdigit():
        return gpus
    if int(number) >= len(gpus):
        refuse_number(device, len(gpus))
    return [gpus[int(number)]]


def refuse_number(device: str, count: int) -> NoReturn:
    raise UserError(f"device={device}: no such device here; expected cuda:0 to cuda:{count - 1}")


def give(gpu: str) -> None:
    """Leave this process, a job of a sweep, one GPU; the sweep's `device=cuda:1` then means it."""
    global _given
    os.environ["CUDA_VISIBLE_DEVICES"] = gpu
    _given = True


def was_given() -> bool:
    """True if this process has the one GPU that its sweep chose for it."""
    return _given


def free_gpu_bytes(device: torch.device) -> int:
    """The free memory of a GPU, and what PyTorch keeps of it for later without using it now."""
    from torch import cuda

    free, _ = cuda.mem_get_info(device)
    return int(free + cuda.memory_reserved(device) - cuda.memory_allocated(device))


def sent(tensor: Tensor, device: torch.device | str) -> Tensor:
    """A tensor of the CPU on a device. The way to a GPU is queued: nobody waits for what the GPU
    still has to do, as an ordinary copy would."""
    import torch

    if on_gpu(torch.device(device)):
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def end_with_parent() -> None:
    """Receive SIGTERM when the process that began this one is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_DEATH_SIGNAL, signal.SIGTERM)
