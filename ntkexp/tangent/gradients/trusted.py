"""Which factors give autograd's own gradient, and other readings of those that do not."""

from __future__ import annotations

from torch import Tensor, nn

from ntkexp.tangent.factors.factor import Factor
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.gradients.by_use import one_output
from ntkexp.tangent.gradients.graph import Graph
from ntkexp.tangent.gradients.graph_uses import GraphUse, graph_factor, graph_uses
from ntkexp.tangent.passes.backwards import receive_gradients
from ntkexp.tangent.passes.reference import ReferencePass


def trusted(
    offered: dict[str, Factor],
    reference: ReferencePass,
    values: Tensor,
    function: NetworkFunction,
) -> dict[str, Factor]:
    """The factors that give the true gradient, of the reference pass or of this very forward.

    The two round differently, since the batch has another size. A ReLU whose input is nearly zero
    may open in one and close in the other, which changes the gradients of all layers below it.
    """
    doubted = [name for name, factor in offered.items() if not reference.agrees(name, factor)]
    if not doubted:
        return offered
    same = reference.of_same_forward(function, values)
    wrong = {name for name in doubted if not same.agrees(name, offered[name])}
    return {name: factor for name, factor in offered.items() if name not in wrong}


def better_order(
    uses: list[GraphUse], name: str, parameter: nn.Parameter, reference: ReferencePass
) -> tuple[Factor, bool]:
    """Of rows that count examples and time: the examples first (True) or last."""
    first = graph_factor(uses, parameter, examples_first=True)
    error = reference.error(name, first)
    if error <= reference.allowed(name):
        return first, True
    last = graph_factor(uses, parameter, examples_first=False)
    return (last, False) if reference.error(name, last) < error else (first, True)


def second_attempt(
    graph: Graph,
    names: list[str],
    values: Tensor,
    reference: ReferencePass,
    function: NetworkFunction,
) -> dict[str, Factor]:
    """Parameters whose module's rule took the wrong axis for the examples, from their uses in
    the graph."""
    parameters = {id(function.parameters[name]): function.parameters[name] for name in names}
    found = graph_uses(graph, parameters, values, values.shape[1])
    places = {id(use): use for one in found.values() for use in one}
    receivers = [(use, use) for use in places.values()]
    together = reference.sizes.is_small(len(values))
    receive_gradients(values, receivers, [*one_output(values)], together)
    offered = {
        name: better_order(found[id(function.parameters[name])], name, parameter, reference)[0]
        for name in names
        if id(parameter := function.parameters[name]) in found
    }
    return trusted(offered, reference, values, function)
