"""Every use of some parameters in the graph of a forward, and their features from these uses."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, Node

from ntkexp.tangent.factors.factor import Direct, Factor, Outer, merged
from ntkexp.tangent.gradients.graph import Graph, output_shape
from ntkexp.tangent.rules.operations import Build, Operation
from ntkexp.tangent.rules.uses import UnfitError


@dataclass
class GraphUse:
    """One operation on a parameter, or on a tensor `shared` computed from parameters.

    It stands in for a recorded call and for its rule: `edge` and `shape` are those of its output,
    whose gradients it receives one output of the network after the other.
    """

    edge: GradientEdge
    shape: torch.Size
    build: Build
    shared: GradientEdge | None  # None: the parameter itself
    transposed: bool
    like: Tensor
    outputs: int
    grads: Tensor | None = field(default=None, repr=False)

    def receive(self, output: int, grad: Tensor) -> None:
        if self.grads is None:
            self.grads = self.like.new_empty(self.outputs, *self.shape)
        self.grads[output] = grad

    def receive_all(self, grads: Tensor) -> None:
        self.grads = grads

    def factor(self, examples_first: bool) -> Factor:
        assert self.grads is not None
        found = self.build(self.grads, examples_first)
        if self.transposed:
            if not isinstance(found, Outer):
                raise UnfitError
            return replace(found, swapped=not found.swapped)
        return found


def graph_uses(
    graph: Graph, parameters: dict[int, nn.Parameter], values: Tensor, outputs: int
) -> dict[int, list[GraphUse]]:
    """The uses of each parameter (by id), for those of which every use is of a known kind."""
    found: dict[int, list[GraphUse]] = {}
    if not graph.known:
        return found
    made: dict[tuple[Node, int, bool, Any], GraphUse] = {}
    for leaf in graph.nodes:
        key = id(getattr(leaf, "variable", None)) if not leaf.next_functions else 0
        if key in parameters:
            try:
                uses = _uses_of(graph, leaf, parameters[key], values, outputs, made)
            except UnfitError:
                continue
            found[key] = uses
    return found


def _uses_of(
    graph: Graph,
    leaf: Node,
    parameter: nn.Parameter,
    values: Tensor,
    outputs: int,
    made: dict[tuple[Node, int, bool, Any], GraphUse],
) -> list[GraphUse]:
    """Walk from a parameter through what is shared to the operations with an axis of examples."""
    uses: list[GraphUse] = []
    seen: set[tuple[Node, int]] = set()
    waiting: list[tuple[Node, int, torch.Size]] = [(leaf, 0, parameter.shape)]
    while waiting:
        node, output, shape = waiting.pop()
        for consumer, index, taken in graph.consumers.get(node, []):
            if taken != output:
                continue
            if graph.is_shared(consumer):
                for one in {given for _, _, given in graph.consumers[consumer]}:
                    if (consumer, one) not in seen:
                        seen.add((consumer, one))
                        waiting.append((consumer, one, output_shape(consumer, one)))
                continue
            axis = graph.axes.get(consumer)
            if axis is None:
                raise UnfitError
            turned = node is not leaf and _only_turns(node, leaf)
            shared = None if node is leaf or turned else GradientEdge(node, output)
            key = (consumer, index, turned, (node, output))
            if key not in made:
                operation = Operation(consumer, index, shape, axis, len(values))
                made[key] = GraphUse(
                    edge=GradientEdge(consumer, 0),
                    shape=output_shape(consumer),
                    build=operation.build(),
                    shared=shared,
                    transposed=turned,
                    like=values.detach(),
                    outputs=outputs,
                )
            uses.append(made[key])
    if not uses:
        raise UnfitError
    return uses


def _only_turns(node: Node, leaf: Node) -> bool:
    """Whether the node is the transpose of the leaf, a matrix."""
    return node.name() == "TBackward0" and node.next_functions[0][0] is leaf


def graph_factor(uses: list[GraphUse], parameter: nn.Parameter, examples_first: bool) -> Factor:
    """The parameter's features: the sum over its uses."""
    factors: list[Factor] = []
    for use in uses:
        factor = use.factor(examples_first)
        if use.shared is not None:
            factor = _through(use, factor, parameter)
        factors.append(factor)
    return merged(factors)


def _through(use: GraphUse, factor: Factor, parameter: nn.Parameter) -> Direct:
    """Features by a parameter from those by a tensor computed from it: the chain rule."""
    assert use.shared is not None
    rows = factor.jacobian()  # (n, k, numbers of the shared tensor)
    n, k = rows.shape[:2]
    cotangents = rows.reshape(n * k, *output_shape(use.shared.node, use.shared.output_nr))
    shared: Any = use.shared

    def pulled(rows: Tensor, batched: bool) -> Tensor:
        return torch.autograd.grad(
            [shared], [parameter], [rows], retain_graph=True, is_grads_batched=batched
        )[0]

    try:
        found = pulled(cotangents, True)
    except RuntimeError:  # an operation that vmap cannot follow
        found = torch.stack([pulled(row, False) for row in cotangents])
    return Direct(found.detach().reshape(n, k, -1))
