"""Factors of every parameter, one for each use, from one recorded forward and its backwards."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent.factors.factor import Factor
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.gradients.chain import chain_of, chain_uses
from ntkexp.tangent.gradients.graph import Graph
from ntkexp.tangent.gradients.graph_uses import GraphUse, graph_uses
from ntkexp.tangent.passes.backwards import Place, Receiver, receive_gradients
from ntkexp.tangent.passes.calls import Call, outside_uses, refuse_overwritten
from ntkexp.tangent.passes.reference import Sizes, first_line
from ntkexp.tangent.rules import Rule, UnfitError, rule_for


def factors_by_use(
    values: Tensor,
    calls: list[Call],
    parameters: dict[str, nn.Parameter],
    cotangents: Iterable[Tensor],
    graph: Graph | None = None,
    together: bool = False,
    outside: set[int] | None = None,
) -> tuple[dict[int, list[Factor]], set[int], dict[int, list[GraphUse]]]:
    """Factors of parameters by id, one for each use, and the ids that no module's rule covers.

    Of the latter, uses found in the graph are the third part of the answer, where one is given.

    `outside` are the ids of the parameters used elsewhere than in the calls, if that is known.

    Each cotangent (n, k) asks for one backward, of activations only: no parameter is among the
    places where the gradient is wanted, so autograd computes none of theirs.
    """
    calls = with_rule(calls)
    if outside is None:
        outside = outside_uses(values, calls, list(parameters.values()))
    slow = set(outside)
    wanted = {id(parameter) for parameter in parameters.values()} - slow
    cotangents = list(cotangents)
    rules: list[tuple[Call, Rule]] = []
    for call in calls:
        own = {key: id(p) for key, p in call.module._parameters.items() if id(p) in wanted}
        known = frozenset(own) & {"weight", "bias"}
        slow.update(key for name, key in own.items() if name not in known)
        if not known:
            continue
        kind = rule_for(call.module)
        assert kind is not None
        try:
            if graph is not None and graph.has_examples_elsewhere(call.edge.node):
                raise UnfitError
            rule = kind(call, known, len(values), len(cotangents))
        except UnfitError:
            slow.update(id(getattr(call.module, key)) for key in known)
        else:
            rules.append((call, rule))
    found = graph_uses(graph, _by_id(parameters, slow), values, len(cotangents)) if graph else {}
    places = {id(use): use for one in found.values() for use in one}
    every: list[tuple[Place, Receiver]] = [*rules, *((use, use) for use in places.values())]
    try:
        receive_gradients(values, every, cotangents, together)
    except RuntimeError as error:
        raise UserError(f"the model cannot be differentiated: {first_line(error)}") from error
    uses: dict[int, list[Factor]] = {}
    for call, rule in rules:
        for key, factor in rule.factors().items():
            uses.setdefault(id(getattr(call.module, key)), []).append(factor)
    # One call that no rule fits makes those of the others useless: a part of a sum.
    return {key: some for key, some in uses.items() if key not in slow}, slow, found


def with_rule(calls: list[Call]) -> list[Call]:
    return [call for call in calls if rule_for(call.module) is not None]


def _by_id(parameters: dict[str, nn.Parameter], ids: set[int]) -> dict[int, nn.Parameter]:
    return {id(p): p for p in parameters.values() if id(p) in ids}


def one_output(values: Tensor) -> Iterable[Tensor]:
    for output in range(values.shape[1]):
        cotangent = torch.zeros_like(values)
        cotangent[:, output] = 1
        yield cotangent


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
