"""The exact linear pieces of a ReLU network of one input, and the chain of bounds on its slope.

Equation (7) of "On the Spectral Bias of Neural Networks":
    L_f <= prod |W_k| <= |theta|_inf^(L+1) sqrt(d) prod d_k

ntkexp train +exp=spectral/equal
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import nn

from ntkexp.errors import UserError
from ntkexp.models.activations import refuse_other_than_relu
from ntkexp.models.base import formatted_shape
from ntkexp.options import STEPS, count, option
from ntkexp.probes.base import Probe
from ntkexp.probes.view import View
from ntkexp.results.table import STEP, Rows, Table, float64, int64
from ntkexp.theory.spectral.lipschitz import max_norm_bound, product_bound
from ntkexp.theory.spectral.piecewise import Layers, pieces

LINEAR_PIECES = Table(
    "linear_pieces",
    "the linear pieces of a network on [0, 1], and bounds on their slopes",
    {
        "step": STEP,
        "regions": int64("pieces: between two of them some unit changes its side"),
        "lipschitz": float64("the largest slope"),
        "product": float64("of the spectral norms of all layers"),
        "max_norm": float64("the bound by the largest weight"),
    },
)


@dataclass
class LinearPieces(Probe):
    """Looks at the steps `steps` alone, or at every look where none is named; of many networks in
    one run at the first `networks`."""

    tables = (LINEAR_PIECES,)
    needs = frozenset({"network", "layers"})
    looks_at = frozenset()

    steps: list[int] = option([], STEPS, "looks at which pieces are counted; none: all")
    networks: int = option(2, count("networks"), "of many networks in one run the first")

    def check(self, config: Any = None) -> None:
        super().check(config)
        refuse_other_than_relu(self.name, config.model)
        shape = config.data.shape()
        if shape is not None and shape.inputs != (1,):
            raise UserError(
                f"probe.linear_pieces: is of networks of one input, data={config.data.name} has "
                f"inputs of {formatted_shape(shape.inputs)}; expected one number, as in data=sines"
            )

    def measure(self, view: View) -> Rows:
        if view.member >= self.networks or (self.steps and view.step not in self.steps):
            return {}
        network = view.network()
        linear = linear_layers(network)
        ends = (linear[0].in_features, linear[-1].out_features) if linear else ()
        if ends != (1, 1) or any(layer.bias is None for layer in linear):
            raise UserError(
                "probe.linear_pieces: expected linear layers with biases from one input to one "
                "output, such as those of data=sines model=mlp"
            )
        layers = layers_of(network)
        weights = [W for W, _ in layers]
        function = pieces(layers)
        return {
            "linear_pieces": {
                "regions": function.regions,
                "lipschitz": function.lipschitz,
                "product": product_bound(weights),
                "max_norm": max_norm_bound(weights),
            }
        }


def layers_of(network: nn.Module) -> Layers:
    """Weights and biases of the linear layers in float64, in their order."""
    return [
        (
            layer.weight.detach().double().cpu().numpy(),
            layer.bias.detach().double().cpu().numpy(),
        )
        for layer in linear_layers(network)
    ]


def linear_layers(network: nn.Module) -> list[nn.Linear]:
    return [layer for layer in network.modules() if isinstance(layer, nn.Linear)]
