"""Whether a network takes the data and fits into memory, told from options without PyTorch.

Training with momentum keeps three numbers a parameter in float32: the parameter, its velocity and
its gradient, 12 bytes. Activations and kernels come on top, and are not counted here.
"""

from __future__ import annotations

from collections.abc import Sequence

from omegaconf import DictConfig, OmegaConf

from ntkexp.config import LauncherConfig, SlurmConfig, TrainConfig
from ntkexp.errors import UserError
from ntkexp.machine.gpus import visible_gpus
from ntkexp.machine.memory import available_bytes, refuse_beyond
from ntkexp.members import Columns

BYTES_PER_NUMBER = 4
# What decides how many parameters a network has.
KEYS_OF_SIZE = ("model", "data")


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


def parameters(config: DictConfig) -> tuple[int, int] | None:
    """How many parameters and outputs a network has; None where options do not tell.

    The objective may give it fewer outputs than there are classes.
    """
    plain = OmegaConf.to_object(config)
    shape = plain.data.shape() if isinstance(plain, TrainConfig) else None
    if not isinstance(plain, TrainConfig) or shape is None:
        return None
    found = plain.model.parameters(shape.inputs, shape.outputs)
    return None if found is None else (found, shape.outputs)


def refuse_other_sizes(many: Sequence[tuple[Columns, DictConfig]]) -> None:
    """Refuse members whose networks have more or fewer parameters; each is one tensor for all."""
    keys = [key for columns, _ in many[:1] for key in columns if key.startswith(KEYS_OF_SIZE)]
    if not keys:
        return
    first: tuple[int, int] | None = None
    for _, config in many:
        count = parameters(config)
        first = first or count
        if first and count and first != count and first[1] == count[1]:
            raise UserError(
                f"members.{keys[0]}: the networks have {first[0]:,} and {count[0]:,} "
                "parameters; expected one architecture, or a sweep (-m)"
            )


def _on_gpu(device: str) -> bool:
    return device.startswith("cuda") or (device == "auto" and bool(visible_gpus()))


def _room_bytes(launcher: LauncherConfig) -> int | None:
    """None where the job runs on another machine, and nothing is said of its memory."""
    if isinstance(launcher, SlurmConfig):
        return None if launcher.memory_gb is None else launcher.memory_gb * 2**30
    return available_bytes()
