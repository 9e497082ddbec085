"""One recorded forward, and the factors that its calls and its graph offer."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ntkexp.tangent.factors.factor import Factor
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.gradients.by_use import factors_by_use, one_output, with_rule
from ntkexp.tangent.gradients.chain import chain_of, chain_uses
from ntkexp.tangent.gradients.graph import Graph
from ntkexp.tangent.gradients.graph_uses import GraphUse
from ntkexp.tangent.passes.calls import Call, outside_uses, refuse_overwritten
from ntkexp.tangent.passes.reference import Sizes


@dataclass
class Forward:
    values: Tensor
    calls: list[Call]
    uses: dict[int, list[Factor]]  # by the id of the parameter
    slow: set[int]  # ids of the parameters no module's rule covers
    in_graph: dict[int, list[GraphUse]]
    graph: Graph | None  # None of a plain chain
    outside: set[int]  # ids of the parameters used elsewhere than by their modules


def forward_of(
    function: NetworkFunction,
    values: Tensor,
    calls: list[Call],
    sizes: Sizes,
    outside: frozenset[str] | None = None,
) -> Forward:
    refuse_overwritten(calls)
    chain = chain_of(values, function.parameters.values())
    if chain is not None:
        return Forward(values, calls, chain_uses(chain), set(), {}, None, set())
    n = len(values)
    parameters = function.parameters
    graph = Graph(values, sizes.signature, n, sizes.examples)
    if outside is None:
        ids = outside_uses(values, with_rule(calls), [*parameters.values()])
    else:
        ids = {id(parameters[name]) for name in outside}
    cotangents = [*one_output(values)]
    together = sizes.is_small(n)
    found = factors_by_use(values, calls, parameters, cotangents, graph, together, ids)
    return Forward(values, calls, *found, graph, ids)
