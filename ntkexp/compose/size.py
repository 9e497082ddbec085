"""Whether a network takes the data and fits into memory, told from options without PyTorch.

Training with momentum keeps three numbers a parameter in float32: the parameter, its velocity and
its gradient, 12 bytes. Activations and kernels come on top, and are not counted here.
"""

from __future__ import annotations

from ntkexp.config import LauncherConfig, SlurmConfig, TrainConfig
from ntkexp.machine.gpus import visible_gpus
from ntkexp.machine.memory import available_bytes, refuse_beyond

BYTES_PER_NUMBER = 4


def check(config: TrainConfig) -> None:
    """Refuse a network that cannot take the data, or that does not fit into memory.

    What is not known of a component of one's own is not checked here.
    """
    shape, model = config.data.shape(), config.model
    if shape is None:
        return
    model.refuse_inputs(shape.inputs)
    parameters = model.parameters(shape.inputs, shape.outputs)
    room = _room_bytes(config.launcher)
    if parameters is None or room is None:
        return
    needed = BYTES_PER_NUMBER * parameters
    on_gpu = _on_gpu(config.device)
    key = f"model.{model.size_key}={getattr(model, model.size_key)}" if model.size_key else "model"
    refuse_beyond(
        key,
        "its parameters" if on_gpu else "its parameters, velocity and gradients",
        needed if on_gpu else 3 * needed,
        room,
    )


def _on_gpu(device: str) -> bool:
    return device.startswith("cuda") or (device == "auto" and bool(visible_gpus()))


def _room_bytes(launcher: LauncherConfig) -> int | None:
    """None where the job runs on another machine, and nothing is said of its memory."""
    if isinstance(launcher, SlurmConfig):
        return None if launcher.memory_gb is None else launcher.memory_gb * 2**30
    return available_bytes()
