"""How much arithmetic one update is, told by the options: nothing is built for it.

A linear layer multiplies inputs * outputs numbers an example, a convolution kernel area * channels
in * channels out at every position of its output; each model counts its own forward pass.
Backpropagation takes as many again for the gradient by the weights and once more for that by the
inputs, so an update of n examples takes 3 n times the forward pass (Baydin et al. 2018,
https://arxiv.org/abs/1502.05767, section 3.2, have the bound). Activations, norms and the update
itself are left out.
"""

from __future__ import annotations

from typing import Any

from omegaconf import DictConfig, OmegaConf

from ntkexp.data.base import Data
from ntkexp.errors import UserError
from ntkexp.models.base import Model


def of_a_step(config: Any) -> int | None:
    """Multiplications of one update of one network; None for what is not known without building it.

    `config` is a composed config or the dataclass made of it.
    """
    data, model = _options(config, "data"), _options(config, "model")
    if not isinstance(data, Data) or not isinstance(model, Model):
        return None
    shape = data.shape()
    if shape is None or shape.examples is None:
        return None
    try:
        model.refuse_inputs(shape.inputs)
    except UserError:
        return None  # refused where the network is built
    forward = model.multiplications(shape.inputs, shape.outputs)
    batch = min(config.optim.batch_size or shape.examples, shape.examples)
    return None if forward is None else 3 * batch * forward


def _options(config: Any, group: str) -> object:
    node = getattr(config, group, None)
    return OmegaConf.to_object(node) if isinstance(node, DictConfig) else node
