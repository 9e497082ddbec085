"""Every use of some parameters in the graph of a forward, and their features from these uses."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, Node

from ntkexp.tangent.factors import Direct, Factor, Outer
from ntkexp.tangent.graph import SHARED, Axes, Graph, output_shape
from ntkexp.tangent.operations import Outers, UnfitError, Use


class Usage(NamedTuple):
    """A parameter as input number `argument` of an operation: itself, `turned`, or through others.

    `shared` is then where the tensor stands in the graph that is computed from parameters alone.
    """

    use: Use
    argument: int
    turned: bool
    shared: GradientEdge | None

    def factor(self, parameter: nn.Parameter) -> Factor:
        factor = self.use.rules[self.argument].factor()
        if self.turned:
            assert isinstance(factor, Outer)
            return Outer(factor.u, factor.v, swapped=not factor.swapped)
        return factor if self.shared is None else _through(self.shared, factor, parameter)


def uses_of(
    graph: Graph, axes: Axes, leaves: Mapping[str, Node], outputs: int, time_first: Collection[str]
) -> dict[str, list[Usage]]:
    """The uses of some leaves of the graph, by name; none where some use of a leaf has no rule, for
    a part of a sum is worth nothing.

    Of the parameters in `time_first`, rows that count examples and time have the time first.
    """
    by_node = dict(zip(graph.nodes, axes, strict=True))
    made: dict[tuple[Node, bool], Use] = {}
    uses: dict[str, list[Usage]] = {}
    for name, leaf in leaves.items():
        try:
            uses[name] = _uses(graph, leaf, by_node, made, outputs, name in time_first)
        except UnfitError:
            uses[name] = []
    return uses


def _uses(
    graph: Graph,
    leaf: Node,
    axes: Mapping[Node, Any],
    made: dict[tuple[Node, bool], Use],
    outputs: int,
    time_first: bool,
) -> list[Usage]:
    """Walk from a parameter through what is shared to the operations with an axis of examples."""
    uses: list[Usage] = []
    start: Any = leaf
    seen, waiting = {(leaf, 0)}, [(leaf, 0, start.variable.shape)]
    while waiting:
        node, output, shape = waiting.pop()
        for consumer, index, taken in graph.consumers.get(node, []):
            if taken != output:
                continue
            if axes[consumer] == SHARED:
                for one in {given for _, _, given in graph.consumers[consumer]}:
                    if (consumer, one) not in seen:
                        seen.add((consumer, one))
                        waiting.append((consumer, one, output_shape(consumer, one)))
                continue
            if axes[consumer] is None:
                raise UnfitError
            key = (consumer, time_first)
            if key not in made:
                examples = graph.outline.examples
                made[key] = Use(consumer, axes[consumer], examples, outputs, time_first)
            made[key].want(index, shape)
            turned = node.name() == "TBackward0" and node.next_functions[0][0] is leaf
            turned = turned and isinstance(made[key].rules[index], Outers)
            shared = None if node is leaf or turned else GradientEdge(node, output)
            uses.append(Usage(made[key], index, turned, shared))
    return uses


def _through(shared: GradientEdge, factor: Factor, parameter: nn.Parameter) -> Direct:
    """Features by a parameter from those by a tensor computed from it: the chain rule."""
    rows = factor.jacobian()  # (n, k, numbers of the shared tensor)
    n, k = rows.shape[:2]
    cotangents = rows.reshape(n * k, *output_shape(shared.node, shared.output_nr))
    start: Any = shared

    def pulled(rows: Tensor, batched: bool) -> Tensor:
        return torch.autograd.grad(
            [start], [parameter], [rows], retain_graph=True, is_grads_batched=batched
        )[0]

    try:
        found = pulled(cotangents, True)
    except RuntimeError:  # an operation that vmap cannot follow
        found = torch.stack([pulled(row, False) for row in cotangents])
    return Direct(found.detach().reshape(n, k, -1))
