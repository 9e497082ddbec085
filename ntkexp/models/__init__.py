"""What the network is: multilayer perceptrons, VGG and ResNet, by name.

Importing this loads no PyTorch: what can be told of a network without it is in `size`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from omegaconf import OmegaConf

from ntkexp.config import ModelConfig
from ntkexp.errors import UserError
from ntkexp.models.size import check_shape, schema_of
from ntkexp.options import check_options

if TYPE_CHECKING:
    from torch import nn

__all__ = ["BUILDERS", "build"]

# name in the config -> (module, what makes the network of (config, input_shape, outputs))
BUILDERS = {
    "mlp": ("ntkexp.models.networks.mlp", "mlp"),
    "vgg": ("ntkexp.models.networks.vgg", "vgg"),
    "resnet18": ("ntkexp.models.networks.resnet", "ResNet18"),
}


def build(config: ModelConfig, input_shape: tuple[int, ...], outputs: int, seed: int) -> nn.Module:
    """The network of `config` in float32 on the CPU, its weights drawn from the stream "init".

    The weights depend on the seed alone, and the global random state is left as it was.

    >>> import torch
    >>> from ntkexp.config import MLPConfig
    >>> build(MLPConfig(depth=1, width=3), (2,), outputs=1, seed=0)(torch.zeros(5, 2)).shape
    torch.Size([5, 1])
    """
    import torch

    from ntkexp.models.initialisation import initialise
    from ntkexp.seeds import derived_seed, generator

    if config.name not in BUILDERS:
        raise UserError(f"model.name={config.name}: there are {', '.join(BUILDERS)}")
    schema = schema_of(config.name)
    if not isinstance(config, schema):
        raise UserError(
            f"model.name={config.name}: takes a {schema.__name__}, got a {type(config).__name__}"
        )
    check_options(OmegaConf.structured(config), "model")
    check_shape(config, input_shape)
    module, name = BUILDERS[config.name]
    builder = getattr(importlib.import_module(module), name)
    # PyTorch's own initialisation knows only the global generator, so that one is lent the stream.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(derived_seed(seed, "init"))
        model: nn.Module = builder(config, input_shape, outputs).to(torch.float32)
    initialise(model, config.init, generator(seed, "init"))
    return model
