"""How much arithmetic one update is, told by the plain config: nothing is built for it.

A linear layer multiplies inputs * outputs numbers an example, a convolution kernel area * channels
in * channels out at every position of its output. Backpropagation takes as many again for the
gradient by the weights and once more for that by the inputs, so an update of n examples takes
3 n times the forward pass (Baydin et al. 2018, https://arxiv.org/abs/1502.05767, section 3.2, have
the bound). Activations, norms and the update itself are left out.
"""

from __future__ import annotations

import math
from typing import Any

from ntkexp.members import expanded

# Inputs, outputs, and the examples of the training split where the config leaves them all in.
DATA: dict[str, tuple[tuple[int, ...], int, int]] = {
    "disk": ((2,), 1, 500),
    "mnist": ((1, 28, 28), 10, 60_000),
    "kmnist": ((1, 28, 28), 10, 60_000),
    "cifar10": ((3, 32, 32), 10, 50_000),
}
VGG_CONVOLUTIONS = {
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}


def of_a_step(config: Any) -> int | None:
    """Multiplications of one update; None for what is not a network that this file knows.

    `config` is a composed config or the dataclass made of it.
    """
    data, model = getattr(config, "data", None), getattr(config, "model", None)
    if data is None or model is None or data.name not in DATA or model.name not in FORWARD:
        return None
    shape, outputs, everything = DATA[data.name]
    examples = data.train_examples or everything
    examples += getattr(data, "difficult_examples", 0)
    batch = min(config.optim.batch_size or examples, examples)
    networks = math.prod(map(len, expanded(config.members).values())) if config.members else 1
    return networks * 3 * batch * int(FORWARD[model.name](model, shape, outputs))


def _mlp(model: Any, shape: tuple[int, ...], outputs: int) -> int:
    hidden: int = (model.depth - 1) * model.width**2
    output: int = model.width * outputs
    return math.prod(shape) * int(model.width) + hidden + output


def _vgg(model: Any, shape: tuple[int, ...], outputs: int) -> int:
    channels, side, total = shape[0], shape[-1], 0
    # What has no such depth is refused where the network is built.
    for stage, convolutions in enumerate(VGG_CONVOLUTIONS.get(model.depth, ())):
        wanted = model.base * min(2**stage, 8)
        for _ in range(convolutions):
            total += 9 * channels * wanted * side**2
            channels = wanted
        side //= 2
    return total + channels * outputs


def _resnet18(model: Any, shape: tuple[int, ...], outputs: int) -> int:
    side, channels = shape[-1], model.base
    total = 9 * shape[0] * channels * side**2
    for stage in range(4):
        wanted, halves = model.base * 2**stage, stage > 0
        side = -(-side // 2) if halves else side
        shortcut = channels * wanted if halves else 0
        total += (9 * channels * wanted + 3 * 9 * wanted**2 + shortcut) * side**2
        channels = wanted
    return int(total + channels * outputs)


FORWARD = {"mlp": _mlp, "vgg": _vgg, "resnet18": _resnet18}
