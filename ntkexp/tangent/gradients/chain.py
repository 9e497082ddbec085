"""The features of a chain of affine maps and ReLUs, taken from the graph of its forward.

For h_l = relu(W_l h_{l-1} + b_l), l < L, and f = W_L h_{L-1} + b_L, a vector v_i in R^c gives

    delta_Li = v_i,    delta_{l-1,i} = (W_l^T delta_li) * [h_{l-1,i} > 0],

    grad_{W_l} <v_i, f(x_i)> = delta_li h_{l-1,i}^T,    |grad_w <v_i, f(x_i)>|^2 =
        sum_l |delta_li|^2 (|h_{l-1,i}|^2 + 1),

the 1 being the bias: with random signs v an estimate of the trace, with every unit vector, all at
once, the trace itself and the factors of the kernel. Autograd has kept every W_l and h_l for a
backward of its own, so nothing need be recorded, and what is left is a product and a mask a layer.
That matters in a small network, where an operation costs more to ask for than to do.

>>> net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
>>> chain = chain_of(net(torch.ones(4, 2)), net.parameters())
>>> [tuple(link.inputs.shape) for link in chain]    # from the outputs down
[(4, 3), (4, 2)]
>>> squared_length(chain, torch.ones(4, 1)).item() >= 4 * 1    # the last bias alone gives that
True
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional

from ntkexp.tangent.factors.factor import Direct, Factor, Outer
from ntkexp.tangent.factors.positions import Columns


class Link(NamedTuple):
    """One affine map, and what of the chain goes on below it.

    parameters, weight (O, K) and bias; inputs (n, K); turned, the weight as (K, O), or None at the
    lower end; relu (n, K), what the ReLU below gave out, or None where there is no ReLU.
    """

    parameters: tuple[Tensor, Tensor]
    inputs: Tensor
    turned: Tensor | None
    relu: Tensor | None


Chain: TypeAlias = list[Link]


def chain_of(outputs: Tensor, parameters: Iterable[nn.Parameter]) -> Chain | None:
    """The chain that `outputs` came out of, or None if their graph is anything else.

    From the outputs down to what takes no gradient the graph must be addmm(b, h, W^T), at most one
    ReLU, addmm, and so on, and each of `parameters` must be the weight or the bias of exactly one
    map, nothing else any. All of it is looked at every time, which takes a twentieth of the step of
    an MLP 6 x 80. Whatever was overwritten after it was saved makes no chain; autograd keeps count.
    """
    unmet = {id(parameter) for parameter in parameters}
    chain: Chain = []
    node: Any = outputs.grad_fn
    try:
        while node is not None:
            link, node = _link(node, unmet)
            chain.append(link)
    except (_NoLink, RuntimeError):  # autograd hands out nothing that was overwritten or is freed
        return None
    return None if unmet or not chain else chain


class _NoLink(Exception):
    """The graph does not go on as a chain."""


def _link(node: Any, unmet: set[int]) -> tuple[Link, Any]:
    """The affine map at a node of the graph and the node of the next, its parameters now met."""
    if node.name() != "AddmmBackward0" or node._saved_alpha != 1 or node._saved_beta != 1:
        raise _NoLink
    (at_bias, _), (below, _), (turned, _) = node.next_functions
    if turned is None or turned.name() != "TBackward0":
        raise _NoLink
    bias, weight = _leaf(at_bias), _leaf(turned.next_functions[0][0])
    parameters, met = (weight, bias), {id(bias), id(weight)}
    if bias.shape != weight.shape[:1] or not unmet >= met:
        raise _NoLink
    unmet -= met
    inputs, relu = node._saved_mat1, None
    if below is None:
        return Link(parameters, inputs, None, None), None
    if below.name() == "ReluBackward0":
        relu, below = below._saved_result, below.next_functions[0][0]
    return Link(parameters, inputs, node._saved_mat2, relu), below


def _leaf(node: Any) -> Tensor:
    """The tensor whose gradient a node of the graph accumulates."""
    if node is None or node.name() != "torch::autograd::AccumulateGrad":
        raise _NoLink
    variable: Tensor = node.variable
    return variable


def _pulled_back(chain: Chain, cotangent: Tensor) -> Iterator[tuple[Link, Tensor]]:
    """Every map and its delta, from the outputs down: (n, O), or (m, n, O) of m cotangents."""
    delta = cotangent
    for link in chain:
        yield link, delta
        if link.turned is not None:
            delta = functional.linear(delta, link.turned)
            if link.relu is not None:
                delta.mul_(link.relu.sign())  # quicker to ask for than autograd's own operation


def unit_vectors(chain: Chain) -> Tensor:
    """The c cotangents (c, n, c) of one output each."""
    n, c = len(chain[0].inputs), len(chain[0].parameters[0])
    return torch.eye(c, out=chain[0].inputs.new_empty(c, c)).unsqueeze(1).expand(c, n, c)


@torch.no_grad()
def chain_uses(chain: Chain) -> dict[int, list[Factor]]:
    """The features of every parameter, by its id, one use each, for all outputs at once."""
    uses: dict[int, list[Factor]] = {}
    for link, delta in _pulled_back(chain, unit_vectors(chain)):
        weight, bias = link.parameters
        v = delta.transpose(0, 1).contiguous()  # (n, k, O)
        u = Columns(link.inputs.detach()[:, None, :, None])
        uses[id(weight)] = [Outer(u, v[:, :, None, :, None])]
        uses[id(bias)] = [Direct(v)]
    return uses


@torch.no_grad()
def squared_length(chain: Chain, cotangent: Tensor) -> Tensor:
    """sum_i |grad <v_i, f(x_i)>|^2 over all parameters, v (n, c) the cotangent; float64.

    Of several cotangents (m, n, c) it is the sum.
    """
    norm, over = torch.linalg.vector_norm, 1 if cotangent.dim() == 2 else (0, 2)
    inputs, deltas = [], []
    for link, delta in _pulled_back(chain, cotangent):
        inputs.append(norm(link.inputs, dim=1))
        deltas.append(norm(delta, dim=over))
    # One conversion, one square: the lengths of all layers are few numbers.
    h, d = torch.stack(inputs + deltas).double().square_().view(2, -1)
    return torch.dot(h.add_(1), d)
