"""An LSTM step by step, in the place of the fused one.

In float32 on a CPU torch computes an LSTM in one operation, whose inside no rule can see. Written
out it is linear maps and gates, which the rules for operations cover. For each step t, layer and
direction (Hochreiter and Schmidhuber, 1997, with forget gates; torch.nn.LSTM's order of gates):

    i, f, g, o = W_ih x_t + b_ih + W_hh h_{t-1} + b_hh
    c_t = sigmoid(f) c_{t-1} + sigmoid(i) tanh(g),    h_t = W_hr (sigmoid(o) tanh(c_t))

where W_hr, the projection, may be absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode


class LSTMByStep(TorchFunctionMode):
    """Replaces torch's LSTM on padded sequences while it is active, in this thread."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        # Nine arguments, the third the weights: of packed sequences the third is the state.
        if getattr(func, "__name__", "") == "lstm" and len(args) == 9:
            x, state, weights, biases, layers, dropout, training, both_ways, batch_first = args
            if isinstance(weights, list) and not (dropout and training):
                return lstm(x, state, weights, biases, layers, both_ways, batch_first)
        return func(*args, **(kwargs or {}))


def lstm(
    x: Tensor,
    state: Sequence[Tensor],
    weights: list[Tensor],
    biases: bool,
    layers: int,
    both_ways: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The output of the last layer at all steps, and the last states of all layers."""
    directions = 2 if both_ways else 1
    count = len(weights) // (layers * directions)
    x = x.transpose(0, 1) if batch_first else x  # (T, n, K)
    hs, cs = [], []
    for layer in range(layers):
        outs = []
        for direction in range(directions):
            at = layer * directions + direction
            of_direction = weights[at * count : (at + 1) * count]
            sequence = x.flip(0) if direction else x
            out, h, c = _one_layer(sequence, state[0][at], state[1][at], of_direction, biases)
            outs.append(out.flip(0) if direction else out)
            hs.append(h)
            cs.append(c)
        x = torch.cat(outs, dim=2) if both_ways else outs[0]
    return x.transpose(0, 1) if batch_first else x, torch.stack(hs), torch.stack(cs)


def _one_layer(
    x: Tensor, h: Tensor, c: Tensor, weights: list[Tensor], biases: bool
) -> tuple[Tensor, Tensor, Tensor]:
    w_ih, w_hh = weights[:2]
    b_ih, b_hh = weights[2:4] if biases else (None, None)
    projection = weights[-1] if len(weights) % 2 else None
    from_inputs = functional.linear(x, w_ih, b_ih)
    outs = []
    for step in from_inputs.unbind(0):
        i, f, g, o = (step + functional.linear(h, w_hh, b_hh)).chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        h = h if projection is None else functional.linear(h, projection)
        outs.append(h)
    return torch.stack(outs), h, c
