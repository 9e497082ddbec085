"""The features of a batch, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn
from torch.nn.modules.conv import _ConvNd

from ntkexp.tangent.factors.factor import Factor
from ntkexp.tangent.passes.calls import Call
from ntkexp.tangent.routes import Cost


@dataclass
class Features:
    """Factors of every trainable parameter, by layer, in the order of the forward.

    A layer is a module that owns parameters; its name is the first under which the model has it.
    """

    layers: dict[str, dict[str, Factor]]
    examples: int
    outputs: int
    fallback: list[str]
    cost: Cost

    def part(self, examples: slice) -> Features:
        parts = {
            layer: {name: factor.part(examples) for name, factor in factors.items()}
            for layer, factors in self.layers.items()
        }
        return Features(
            parts, len(range(self.examples)[examples]), self.outputs, self.fallback, self.cost
        )


def layer_of(parameter: str) -> str:
    """The module that owns a parameter; a parametrisation belongs to the module it serves.

    >>> layer_of("stage.0.weight"), layer_of("head.parametrizations.weight.original0")
    ('stage.0', 'head')
    """
    owner = parameter.rpartition(".")[0]
    return f".{owner}".partition(".parametrizations.")[0][1:]


def by_layer(
    order: list[str], parameters: dict[str, nn.Parameter], found: dict[str, Factor]
) -> dict[str, dict[str, Factor]]:
    layers: dict[str, dict[str, Factor]] = {}
    owners = {layer_of(name) for name in parameters}
    for layer in [*(name for name in order if name in owners), *map(layer_of, parameters)]:
        layers.setdefault(layer, {})
    for name, factor in found.items():
        layers[layer_of(name)][name] = factor
    return layers


def passes_cost(calls: list[Call], outputs: int) -> Cost:
    """Forward and `outputs` backwards to the inputs of every layer but those nothing precedes."""
    flops = 0.0
    for call in calls:
        module = call.module
        if isinstance(module, nn.Linear):
            one = 2.0 * call.shape.numel() * module.in_features
        elif isinstance(module, _ConvNd):
            one = 2.0 * call.shape.numel() * module.weight[0].numel()
        else:
            one = 0.0
        flops += one * (1 + (outputs if call.input_node is not None else 0))
    return Cost(flops, 0.0)
