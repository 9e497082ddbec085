"""The GPUs of this machine, and what is asked of one. PyTorch is imported to compute on it only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ntkexp.errors import UserError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

# Types of torch.device: graphs, random states and budgets are those of CUDA. AMD's build of PyTorch
# calls its GPUs "cuda", too.
GPU_TYPES = {"cuda"}
_given = False


def on_gpu(device: torch.device) -> bool:
    """Whether a device is a GPU. Every branch for GPUs asks here."""
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
    """Whether this process has the one GPU that its sweep chose for it."""
    return _given


def free_gpu_bytes(device: torch.device) -> int:
    """What a GPU has free, and what PyTorch keeps of it for later without using it now."""
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
