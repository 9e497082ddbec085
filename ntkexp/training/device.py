"""On which device a run computes, and with what precision."""

from __future__ import annotations

from typing import Any

import torch

from ntkexp.errors import UserError


def resolve(name: str) -> torch.device:
    """`auto` means CUDA where there is a GPU; any other name is used as it is."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UserError(f"device={name}: expected auto, cpu, cuda or cuda:N") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UserError(f"device={name}: this machine has no CUDA device; expected auto or cpu")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        last = torch.cuda.device_count() - 1
        raise UserError(f"device={name}: no such device here; expected cuda:0 to cuda:{last}")
    if device.type not in ("cpu", "cuda"):
        raise UserError(f"device={name}: expected auto, cpu, cuda or cuda:N")
    return device


def threads_or_gpu(device: torch.device) -> str:
    """What computes, in words."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    threads = torch.get_num_threads()
    return f"{threads} thread{'s' * (threads != 1)}"


def set_precision(*, tf32: bool, deterministic: bool) -> None:
    """TF32 keeps ten bits of the mantissa: off unless asked, for training and kernels alike."""
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.deterministic = deterministic
    torch.backends.cudnn.benchmark = not deterministic


def facts(device: torch.device) -> dict[str, Any]:
    """The device for a run's provenance."""
    found: dict[str, Any] = {
        "device": str(device),
        "tf32": torch.backends.cuda.matmul.allow_tf32,
        "deterministic": device.type == "cpu" or torch.backends.cudnn.deterministic,
    }
    if device.type == "cuda":
        found["gpu"] = torch.cuda.get_device_name(device)
        found["cuda"] = torch.version.cuda
    return found
