"""Networks, by name: multilayer perceptrons, VGG and ResNet, a file each.

Importing this loads no PyTorch.
"""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from omegaconf import OmegaConf

from ntkexp.errors import UserError, first_line
from ntkexp.models.base import Model
from ntkexp.options import check_options

if TYPE_CHECKING:
    from torch import nn

__all__ = ["Model", "build"]


def build(options: Model, inputs: tuple[int, ...], outputs: int, seed: int) -> nn.Module:
    """The network of `options` in float32 on the CPU, its weights drawn from the stream "init".

    The weights depend on the seed alone, and the global random state is left as it was.

    >>> import torch
    >>> from ntkexp.models.mlp import Mlp
    >>> build(Mlp(depth=1, width=3), (2,), outputs=1, seed=0)(torch.zeros(5, 2)).shape
    torch.Size([5, 1])
    """
    import torch

    from ntkexp.models.weights import initialise
    from ntkexp.seeds import derived_seed, generator

    check_options(OmegaConf.structured(options), "model")
    options.refuse_inputs(inputs)
    # PyTorch's own initialisation knows only the global generator, so that one is lent the stream.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(derived_seed(seed, "init"))
        try:
            model = options.build(inputs, outputs).to(torch.float32)
        except Exception as error:
            if isinstance(error, UserError) or type(options).__module__.startswith("ntkexp."):
                raise
            # A line of one's own class, not of what it calls.
            own = options.build.__code__.co_filename
            frames = traceback.extract_tb(error.__traceback__)
            lines = [f":{frame.lineno}" for frame in frames if frame.filename == own]
            raise UserError(
                f"model={options.name}: build({inputs}, {outputs}) raised {type(error).__name__}: "
                f"{first_line(error)} ({Path(own).name}{lines[-1] if lines else ''})"
            ) from error
    initialise(model, options.init, generator(seed, "init"))
    return model
