"""What the network is: multilayer perceptrons, VGG and ResNet, by name."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from ntkexp.config import MLPConfig, ModelConfig, ResNetConfig, VGGConfig
from ntkexp.errors import UserError
from ntkexp.models.initialisation import initialise
from ntkexp.models.mlp import mlp
from ntkexp.models.resnet import ResNet18
from ntkexp.models.vgg import vgg
from ntkexp.seeds import derived_seed, generator

__all__ = ["BUILDERS", "build"]

Builder = Callable[..., nn.Module]

# name in the config -> (its schema, what makes it of (config, input_shape, outputs))
BUILDERS: dict[str, tuple[type[ModelConfig], Builder]] = {
    "mlp": (MLPConfig, mlp),
    "vgg": (VGGConfig, vgg),
    "resnet18": (ResNetConfig, ResNet18),
}


def build(config: ModelConfig, input_shape: tuple[int, ...], outputs: int, seed: int) -> nn.Module:
    """The network of `config` in float32 on the CPU, its weights drawn from the stream "init".

    The weights depend on the seed alone, and the global random state is left as it was.

    >>> build(MLPConfig(depth=1, width=3), (2,), outputs=1, seed=0)(torch.zeros(5, 2)).shape
    torch.Size([5, 1])
    """
    if config.name not in BUILDERS:
        raise UserError(f"model.name={config.name}: there are {', '.join(BUILDERS)}")
    schema, builder = BUILDERS[config.name]
    if not isinstance(config, schema):
        raise UserError(
            f"model.name={config.name}: takes a {schema.__name__}, got a {type(config).__name__}"
        )
    # PyTorch's own initialisation knows only the global generator, so that one is lent the stream.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(derived_seed(seed, "init"))
        model = builder(config, input_shape, outputs).to(torch.float32)
    initialise(model, config.init, generator(seed, "init"))
    return model
