"""The device on which a run computes, and its precision."""

from __future__ import annotations

import os
import sys
from typing import Any

import torch

from ntkexp.errors import UserError
from ntkexp.machine import on_gpu, refuse_number, visible_gpus, was_given

# The variable that NVIDIA's matrix library needs to add up in one order.
CUBLAS_WORKSPACE = "CUBLAS_WORKSPACE_CONFIG"


def resolve(name: str) -> torch.device:
    """`auto` means CUDA where there is a GPU; any other name is used as it is."""
    available = torch.cuda.is_available()
    if name == "auto":
        if not available and visible_gpus() and not built_for_gpus():
            print(f"device=auto: computes on the CPU: {_built_without()}", file=sys.stderr)
        return torch.device("cuda" if available else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UserError(f"device={name}: expected auto, cpu, cuda or cuda:N") from error
    if device.type not in ("cpu", "cuda"):
        raise UserError(f"device={name}: expected auto, cpu, cuda or cuda:N")
    if device.type == "cuda" and not available:
        why = "this machine has no CUDA device" if built_for_gpus() else _built_without()
        raise UserError(f"device={name}: {why}; expected auto or cpu")
    if device.type == "cuda" and was_given():
        return torch.device("cuda")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        refuse_number(name, torch.cuda.device_count())
    return device


def built_for_gpus() -> bool:
    return torch.version.cuda is not None or torch.version.hip is not None


def _built_without() -> str:
    return f"this PyTorch ({torch.__version__}) is built without CUDA"


def threads_or_gpu(device: torch.device) -> str:
    """The GPU's name, or the number of threads, in words."""
    if on_gpu(device):
        return torch.cuda.get_device_name(device)
    threads = torch.get_num_threads()
    return f"{threads} thread{'s' * (threads != 1)}"


def set_precision(device: torch.device, *, tf32: bool, deterministic: bool) -> None:
    """Set TF32, which keeps ten bits of the mantissa. Kernels are computed without it.

    `deterministic` takes algorithms that give the same bits every time; on a GPU torch warns of an
    operation that has none. cuBLAS reads its variable when it first computes.
    """
    # The older switches set the newer ones (fp32_precision) as well. The newer alone would make
    # torch.backends.cudnn.flags() raise, in whatever network uses it.
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.deterministic = deterministic
    torch.backends.cudnn.benchmark = not deterministic
    everywhere = deterministic and on_gpu(device)
    if everywhere:
        os.environ.setdefault(CUBLAS_WORKSPACE, ":4096:8")
    # Asked for nothing, it would still import the compiler, two seconds of every process.
    if everywhere or torch.are_deterministic_algorithms_enabled():
        torch.use_deterministic_algorithms(everywhere, warn_only=True)


def facts(device: torch.device) -> dict[str, Any]:
    """The device for a run's provenance."""
    cudnn: Any = torch.backends.cudnn
    precisions = torch.backends.cuda.matmul.fp32_precision, cudnn.conv.fp32_precision
    facts: dict[str, Any] = {
        "device": str(device),
        "tf32": "tf32" in precisions,
        "deterministic": not on_gpu(device) or torch.are_deterministic_algorithms_enabled(),
    }
    if on_gpu(device):
        facts["gpu"] = torch.cuda.get_device_name(device)
        facts["cuda"] = torch.version.cuda
        if torch.version.hip is not None:
            facts["hip"] = torch.version.hip
    return facts
