"""The GPUs that this process may use."""

from __future__ import annotations

import os
from pathlib import Path


def visible_gpus() -> list[str]:
    """The GPUs this process may use, told without waking them: CUDA must start in the job."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return [gpu for gpu in chosen.split(",") if gpu not in ("", "-1")]
    devices = Path("/proc/driver/nvidia/gpus")
    return [str(index) for index, _ in enumerate(devices.iterdir())] if devices.is_dir() else []
