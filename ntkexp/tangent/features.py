"""The features of a batch, layer by layer, from one forward and one backward for each output."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd

from ntkexp.errors import UserError
from ntkexp.tangent.backwards import Place, Receiver, receive_gradients
from ntkexp.tangent.batch import Batch
from ntkexp.tangent.calls import (
    Call,
    outside_uses,
    parameterised,
    recorded,
    refuse_overwritten,
)
from ntkexp.tangent.chain import chain_of, chain_uses
from ntkexp.tangent.factors import Factor, Outer, merged
from ntkexp.tangent.fallback import jacobians
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.graph import Graph
from ntkexp.tangent.graph_uses import GraphUse, graph_factor, graph_uses
from ntkexp.tangent.independence import rearranged
from ntkexp.tangent.reference import ReferencePass, first_line
from ntkexp.tangent.routes import Cost
from ntkexp.tangent.rules import Rule, UnfitError, rule_for


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


def features(
    function: NetworkFunction,
    batch: Batch,
    reference: ReferencePass,
    budget_bytes: int,
    *,
    check_examples: bool = True,
) -> Features:
    """Record one forward, pull each output back to the layers, and check the factors.

    `check_examples` compares the outputs with those of a rearranged batch, which takes another
    forward: a request cut into blocks does so for its first.
    """
    parameters = function.parameters
    moved = rearranged(function, batch, reference.layout) if check_examples else None
    with recorded(parameterised(function.model)) as calls:
        raw = function.raw(batch, reference.layout)
    values = function.select(raw, batch)
    assert isinstance(raw, Tensor)
    reference.check_outputs(function, raw)
    if moved is not None:
        moved.check(function, batch, raw.detach(), values.detach())
    del raw
    refuse_overwritten(calls)
    order = list(dict.fromkeys(call.name for call in calls))
    chain = chain_of(values, parameters.values())
    graph_found: dict[int, list[GraphUse]] = {}
    graph: Graph | None = None
    if chain is None:
        graph = Graph(values, reference.signature, len(batch), len(reference.batch))
        uses, slow, graph_found = factors_by_use(
            values,
            calls,
            parameters,
            _one_output(values),
            graph,
            reference.is_small(len(batch)),
        )
    else:
        uses, slow = chain_uses(chain), set()
    offered: dict[str, Factor] = {}
    for name, parameter in parameters.items():
        key = id(parameter)
        if key in uses and key not in slow:
            offered[name] = merged(uses[key])
        elif key in graph_found:
            offered[name] = _better_order(graph_found[key], name, parameter, reference)
        elif reference.gradients[name].any():
            slow.add(key)  # else nothing uses it, and its features are zero
    slow -= graph_found.keys()
    found = _trusted(offered, reference, values, function)
    wrong = [name for name in offered.keys() - found.keys() if id(parameters[name]) in uses]
    if wrong and graph is not None:
        found |= _second_attempt(graph, wrong, values, reference, function)
    slow.update(id(parameters[name]) for name in offered.keys() - found.keys())
    _share_bias(found, uses, parameters)
    cost = passes_cost(list(calls), values.shape[1])
    del values, calls, uses, chain, graph, graph_found
    names = [name for name, parameter in parameters.items() if id(parameter) in slow]
    found |= jacobians(function, batch, names, budget_bytes)
    layers = _by_layer(order, parameters, found)
    return Features(layers, len(batch), reference.outputs, names, cost)


def _trusted(
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


def _better_order(
    uses: list[GraphUse], name: str, parameter: nn.Parameter, reference: ReferencePass
) -> Factor:
    """Rows that count examples and time: the examples come first, or last."""
    first = graph_factor(uses, parameter, examples_first=True)
    error = reference.error(name, first)
    if error <= reference.allowed(name):
        return first
    last = graph_factor(uses, parameter, examples_first=False)
    return last if reference.error(name, last) < error else first


def _second_attempt(
    graph: Graph,
    names: list[str],
    values: Tensor,
    reference: ReferencePass,
    function: NetworkFunction,
) -> dict[str, Factor]:
    """Parameters whose module's rule misread an axis, from the uses in the graph."""
    parameters = {id(function.parameters[name]): function.parameters[name] for name in names}
    found = graph_uses(graph, parameters, values, values.shape[1])
    places = {id(use): use for one in found.values() for use in one}
    receivers = [(use, use) for use in places.values()]
    receive_gradients(values, receivers, [*_one_output(values)], reference.is_small(len(values)))
    offered = {
        name: _better_order(found[id(function.parameters[name])], name, parameter, reference)
        for name in names
        if id(parameter := function.parameters[name]) in found
    }
    return _trusted(offered, reference, values, function)


def factors_by_use(
    values: Tensor,
    calls: list[Call],
    parameters: dict[str, nn.Parameter],
    cotangents: Iterable[Tensor],
    graph: Graph | None = None,
    together: bool = False,
) -> tuple[dict[int, list[Factor]], set[int], dict[int, list[GraphUse]]]:
    """Factors of every parameter by its id, one for each use, and the ids no module's rule covers.

    Of the latter, uses found in the graph are the third part of the answer, where one is given.

    Each cotangent (n, k) asks for one backward, of activations only: no parameter is among the
    places where the gradient is wanted, so autograd computes none of theirs.
    """
    calls = [call for call in calls if rule_for(call.module) is not None]
    slow = outside_uses(values, calls, list(parameters.values()))
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
    return uses, slow, found


def _by_id(parameters: dict[str, nn.Parameter], ids: set[int]) -> dict[int, nn.Parameter]:
    return {id(p): p for p in parameters.values() if id(p) in ids}


def _one_output(values: Tensor) -> Iterable[Tensor]:
    for output in range(values.shape[1]):
        cotangent = torch.zeros_like(values)
        cotangent[:, output] = 1
        yield cotangent


def _share_bias(
    found: dict[str, Factor], uses: dict[int, list[Factor]], parameters: dict[str, nn.Parameter]
) -> None:
    """Mark weights whose bias was in the same single call: sum_d v_d is its gradient."""
    for name, factor in found.items():
        bias = layer_of(name) + ".bias"
        if not isinstance(factor, Outer) or factor.swapped or bias.lstrip(".") not in found:
            continue
        both = (parameters[name], parameters[bias.lstrip(".")])
        if name.endswith("weight") and all(len(uses.get(id(p), ())) == 1 for p in both):
            found[name] = replace(factor, bias=bias.lstrip("."))


def _by_layer(
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
            numel = call.input.numel() if module.transposed else call.shape.numel()
            one = 2.0 * numel * module.weight[0].numel()
        else:
            one = 0.0
        flops += one * (1 + (outputs if call.input_node is not None else 0))
    return Cost(flops, 0.0)
