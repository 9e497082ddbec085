"""Features that have been compared with autograd's own gradients, as far as that is not known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from ntkexp.tangent.batch import Batch
from ntkexp.tangent.checks.independence import Check, check_independent
from ntkexp.tangent.factors.factor import Factor, Outer, merged
from ntkexp.tangent.features import Features, by_layer, layer_of, passes_cost
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.gradients.by_use import Forward, forward_of, one_output
from ntkexp.tangent.gradients.fallback import jacobians
from ntkexp.tangent.gradients.graph import Graph, Signature
from ntkexp.tangent.gradients.graph_uses import GraphUse, graph_factor, graph_uses
from ntkexp.tangent.memory.available import budget_or_default
from ntkexp.tangent.passes.backwards import receive_gradients
from ntkexp.tangent.passes.calls import (
    parameterised,
    recorded,
)
from ntkexp.tangent.passes.reference import ReferencePass, Sizes, reference_pass


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


@dataclass(frozen=True)
class Covered:
    """How the features of a batch of one size were found and agreed with autograd's gradients.

    sizes        of its reference pass
    graph        of the forward; None of a plain chain, which is read anew at every call
    outside      the parameters used by other operations than those of their modules
    parameters   those with factors, True where rows count the examples first; the others of a
                 net are `slow`, or not used at all
    """

    sizes: Sizes
    graph: Signature | None
    outside: frozenset[str]
    parameters: dict[str, bool]
    slow: list[str]


@dataclass
class Known:
    """What has been found out of a function on inputs of one form; `covered` by size of batch."""

    sizes: Sizes | None = None
    independent: bool = False
    covered: dict[int, Covered] = field(default_factory=dict)
    chained: bool | None = None  # whether it is a plain chain of linear layers


class CheckedFeatures:
    """The features of the batches of one request. What is known is not checked again."""

    def __init__(
        self,
        function: NetworkFunction,
        first: Batch,
        budget_bytes: int | None,
        check: Check,
        known: Known,
    ) -> None:
        self.function, self.known = function, known
        self._reference = reference_pass(function, first) if known.sizes is None else None
        self.sizes = known.sizes = known.sizes or self._reference.sizes  # type: ignore[union-attr]
        self.budget_bytes = budget_or_default(budget_bytes, self.sizes.like.device)
        if not known.independent:
            rows = self.budget_bytes // self.sizes.bytes_per_example
            check_independent(function, first, check, rows)
            known.independent = len(first) > 1

    def of(self, batch: Batch, whole: bool) -> Features:
        """`whole` says that the batch is the request, and not a block of it."""
        if len(batch) == 1:  # torch has operations of its own for a single row
            twice = batch[torch.zeros(2, dtype=torch.long, device=batch.indices.device)]
            return self.of(twice, False).part(slice(0, 1))
        covered = self.known.covered.get(len(batch))
        if covered is not None:
            found = _as_before(self.function, batch, covered, self.budget_bytes)
            if found is not None:
                return found
        reference = (self._reference if whole else None) or reference_pass(self.function, batch)
        return features(self.function, batch, reference, self.budget_bytes, self.known)


def features(
    function: NetworkFunction,
    batch: Batch,
    reference: ReferencePass,
    budget_bytes: int,
    known: Known,
) -> Features:
    """Record one forward, pull each output back to the layers, and check the factors."""
    sizes, parameters = reference.sizes, function.parameters
    with recorded(parameterised(function.model)) as calls:
        values = function(batch)
    forward = forward_of(function, values, calls, sizes)
    # Rows in another order may be in a third one next time.
    certain = forward.graph is None or not forward.graph.may_move_rows
    if len(batch) > sizes.examples and not certain:
        reference = reference.of_whole_batch(
            function, values
        )  # the first examples prove too little
    del values, calls
    slow, offered, firsts = forward.slow, dict[str, Factor](), dict[str, bool]()
    for name, parameter in parameters.items():
        key = id(parameter)
        if key in forward.uses:
            offered[name], firsts[name] = merged(forward.uses[key]), True
        elif key in forward.in_graph:
            offered[name], firsts[name] = better_order(
                forward.in_graph[key], name, parameter, reference
            )
        elif reference.gradients[name].any():
            slow.add(key)  # else nothing uses it, and its features are zero
        else:  # ... or it is zero today
            certain &= forward.graph is not None and not forward.graph.has_leaf(parameter)
    slow -= forward.in_graph.keys()
    found = trusted(offered, reference, forward.values, function)
    wrong = [name for name in offered if name not in found and id(parameters[name]) in forward.uses]
    if wrong and forward.graph is not None:
        certain = False
        found |= second_attempt(forward.graph, wrong, forward.values, reference, function)
        for name in wrong:  # whatever its module was called for, that is not how it is used
            forward.uses.pop(id(parameters[name]))
    slow.update(id(parameters[name]) for name in offered if name not in found)
    names = [name for name, parameter in parameters.items() if id(parameter) in slow]
    if certain:
        signature = forward.graph.signature if forward.graph is not None else None
        outside = frozenset(n for n, p in parameters.items() if id(p) in forward.outside)
        order = {name: firsts[name] for name in found}
        known.covered[len(batch)] = Covered(sizes, signature, outside, order, names)
    return _complete(function, batch, forward, found, names, budget_bytes)


def _as_before(
    function: NetworkFunction, batch: Batch, covered: Covered, budget_bytes: int
) -> Features | None:
    """The features as they were found and checked before; None if the graph is another one."""
    with recorded(parameterised(function.model)) as calls:
        raw = function.raw(batch, guarded=False)
    values = function.select(raw, batch)
    del raw
    forward = forward_of(function, values, calls, covered.sizes, covered.outside)
    del values, calls
    signature = forward.graph.signature if forward.graph is not None else None
    if signature != covered.graph:
        return None
    found: dict[str, Factor] = {}
    for name, first in covered.parameters.items():
        parameter = function.parameters[name]
        if id(parameter) in forward.uses:
            found[name] = merged(forward.uses[id(parameter)])
        else:
            found[name] = graph_factor(forward.in_graph[id(parameter)], parameter, first)
    return _complete(function, batch, forward, found, covered.slow, budget_bytes)


def _complete(
    function: NetworkFunction,
    batch: Batch,
    forward: Forward,
    found: dict[str, Factor],
    slow: list[str],
    budget_bytes: int,
) -> Features:
    """With torch.func's Jacobians of what no rule covers, sorted by layer."""
    order = list(dict.fromkeys(call.name for call in forward.calls))
    outputs = forward.values.shape[1]
    _share_bias(found, forward.uses, function.parameters)
    cost = passes_cost(forward.calls, outputs)
    # The graph is not needed any more, and takes most of the memory.
    forward.values, forward.calls, forward.graph = forward.values.new_empty(0), [], None
    forward.uses, forward.in_graph = {}, {}
    found |= jacobians(function, batch, slow, budget_bytes)
    layers = by_layer(order, function.parameters, found)
    return Features(layers, len(batch), outputs, slow, cost)


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
