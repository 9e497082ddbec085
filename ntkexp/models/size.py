"""What a network takes and holds, told from its options without PyTorch.

Training with momentum keeps three numbers a parameter in float32: the parameter, its velocity and
its gradient, 12 bytes. Activations and kernels come on top, and are not counted here.
"""

from __future__ import annotations

import math
from itertools import pairwise

from ntkexp.config import (
    IMAGE_CLASSES,
    IMAGE_SHAPES,
    LauncherConfig,
    MLPConfig,
    ModelConfig,
    Norm,
    ResNetConfig,
    SlurmConfig,
    TrainConfig,
    VGGConfig,
)
from ntkexp.errors import UserError
from ntkexp.memory import available_bytes, refuse_beyond

# depth -> how many 3x3 convolutions each of the five resolutions of a VGG has
VGG_CONVOLUTIONS = {
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}
# channels of the five resolutions in units of base: 64, 128, 256, 512, 512 where base is 64
VGG_CHANNELS = (1, 2, 4, 8, 8)
BYTES_PER_NUMBER = 4


def check(config: TrainConfig) -> None:
    """Refuse a network that cannot take the data, or that does not fit into memory."""
    shape, outputs = _of_data(config.data.name)
    check_shape(config.model, shape)
    needed = BYTES_PER_NUMBER * parameters(config.model, shape, outputs)
    room = _room_bytes(config.launcher)
    if room is None:
        return
    on_gpu = _on_gpu(config.device)
    refuse_beyond(
        _size_key(config.model),
        "its parameters" if on_gpu else "its parameters, velocity and gradients",
        needed if on_gpu else 3 * needed,
        room,
    )


def check_shape(config: ModelConfig, input_shape: tuple[int, ...]) -> None:
    """Refuse inputs that the network does not take."""
    told = "x".join(map(str, input_shape))
    if isinstance(config, VGGConfig) and input_shape[1:] != (32, 32):
        raise UserError(
            f"model.name=vgg: takes 32x32 images such as cifar10's, the data has inputs of {told} "
            "(for mnist and kmnist take mlp or resnet18)"
        )
    if isinstance(config, ResNetConfig) and len(input_shape) != 3:
        raise UserError(
            f"model.name=resnet18: takes images, the data has inputs of {told} numbers (take mlp)"
        )


def schema_of(name: str) -> type[ModelConfig]:
    """The options of the network with this name."""
    schemas: dict[str, type[ModelConfig]] = {
        "mlp": MLPConfig,
        "vgg": VGGConfig,
        "resnet18": ResNetConfig,
    }
    return schemas[name]


def parameters(config: ModelConfig, input_shape: tuple[int, ...], outputs: int) -> int:
    """How many numbers training changes.

    >>> parameters(MLPConfig(depth=1, width=3), (2,), outputs=1)
    13
    """
    if isinstance(config, MLPConfig):
        return _of_mlp(config, math.prod(input_shape), outputs)
    if isinstance(config, VGGConfig):
        return _of_vgg(config, input_shape[0], outputs)
    if isinstance(config, ResNetConfig):
        return _of_resnet(config, input_shape[0], outputs)
    raise TypeError(f"no sizes of a {type(config).__name__}")


def _of_mlp(config: MLPConfig, inputs: int, outputs: int) -> int:
    width = config.width
    hidden = (config.depth - 1) * (width + 1) * width
    return (inputs + 1) * width + hidden + (width + 1) * outputs


def _of_vgg(config: VGGConfig, channels: int, outputs: int) -> int:
    stages = zip(VGG_CONVOLUTIONS[config.depth], VGG_CHANNELS, strict=True)
    widths = [channels, *(base * config.base for count, base in stages for _ in range(count))]
    convolutions = sum((9 * before + 1) * after for before, after in pairwise(widths))
    return convolutions + (widths[-1] + 1) * outputs


def _of_resnet(config: ResNetConfig, channels: int, outputs: int) -> int:
    # Batch normalisation has a scale and a shift a channel, a convolution without it a bias.
    each = 2 if config.norm is Norm.batch else 1
    base = config.base
    total, before = (9 * channels + each) * base, base
    for stage in range(4):
        after = base * 2**stage
        total += (9 * before + each) * after + 3 * (9 * after + each) * after
        total += (before + each) * after if stage else 0  # the shortcut
        before = after
    return total + (before + 1) * outputs


def _of_data(name: str) -> tuple[tuple[int, ...], int]:
    """The shape of an input, and how many outputs a network has for it."""
    return (IMAGE_SHAPES[name], IMAGE_CLASSES) if name in IMAGE_SHAPES else ((2,), 1)


def _size_key(model: ModelConfig) -> str:
    key = "width" if isinstance(model, MLPConfig) else "base"
    return f"model.{key}={getattr(model, key)}"


def _on_gpu(device: str) -> bool:
    from ntkexp.launch.slots import visible_gpus

    return device.startswith("cuda") or (device == "auto" and bool(visible_gpus()))


def _room_bytes(launcher: LauncherConfig) -> int | None:
    """None where the job runs on another machine, and nothing is said of its memory."""
    if isinstance(launcher, SlurmConfig):
        return None if launcher.memory_gb is None else launcher.memory_gb * 2**30
    return available_bytes()
