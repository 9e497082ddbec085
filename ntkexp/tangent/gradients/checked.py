"""Features that have been compared with autograd's own gradients, as far as that is not known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from torch import Tensor, nn

from ntkexp.tangent.batch import Batch
from ntkexp.tangent.checks.gradients_apart import (
    check_alike,
    check_gradients_apart,
    check_on_first,
)
from ntkexp.tangent.checks.independence import rearranged
from ntkexp.tangent.checks.known import Covered, Known, recall, remember
from ntkexp.tangent.checks.operations import Trace, keep_apart
from ntkexp.tangent.factors.factor import Factor, Outer, merged
from ntkexp.tangent.features import Features, by_layer, layer_of, passes_cost
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.gradients.by_use import factors_by_use, one_output, with_rule
from ntkexp.tangent.gradients.chain import chain_of, chain_uses
from ntkexp.tangent.gradients.fallback import jacobians
from ntkexp.tangent.gradients.graph import Graph
from ntkexp.tangent.gradients.graph_uses import GraphUse, graph_factor, graph_uses
from ntkexp.tangent.memory.available import default_budget
from ntkexp.tangent.passes.backwards import receive_gradients
from ntkexp.tangent.passes.calls import (
    Call,
    outside_uses,
    parameterised,
    recorded,
    refuse_overwritten,
)
from ntkexp.tangent.passes.reference import ReferencePass, Sizes, reference_pass

Uses: TypeAlias = dict[int, list[Factor]]


class CheckedFeatures:
    """The features of the batches of one request. What is known of the network is not checked
    again."""

    def __init__(self, function: NetworkFunction, first: Batch, budget_bytes: int | None) -> None:
        self.function = function
        self.known = recall(function, first)
        known_sizes = self.known.sizes if self.known is not None else None
        self._reference = None if known_sizes is not None else reference_pass(function, first)
        self.sizes: Sizes = known_sizes or self._first_reference.sizes
        self.budget_bytes = budget_bytes or default_budget(self.sizes.like.device)
        self._blocks: set[int] = set()

    @property
    def _first_reference(self) -> ReferencePass:
        assert self._reference is not None
        return self._reference

    def check_blocks(self, batch: Batch, block: int) -> None:
        """Check that the examples are independent, before a request is cut into blocks."""
        if self.known is None or block not in self.known.independent:
            check_on_first(self.function, batch, block)
            self._blocks.add(block)

    def of(self, batch: Batch, whole: bool) -> Features:
        """`whole` says that the batch is the request, and not a block of it."""
        n, known = len(batch), self.known
        if known is not None and n in known.covered and (not whole or n in known.independent):
            found = _as_before(self.function, batch, known, self.budget_bytes)
            if found is not None:
                return found
        reference = self._reference if whole else None
        if reference is None:
            reference = reference_pass(self.function, batch)
        found, known = features(
            self.function, batch, reference, self.budget_bytes, check_examples=whole
        )
        if known is not None:
            known.independent |= self._blocks
            self.known = known
        return found


@dataclass
class _Forward:
    """One recorded forward, and where its features can be taken from."""

    values: Tensor
    calls: list[Call]
    uses: Uses
    slow: set[int]  # ids of the parameters no module's rule covers
    in_graph: dict[int, list[GraphUse]]
    graph: Graph | None  # None of a plain chain
    outside: set[int]  # ids of the parameters used elsewhere than by their modules


def _forward(
    function: NetworkFunction,
    values: Tensor,
    calls: list[Call],
    sizes: Sizes,
    outside: frozenset[str] | None = None,
) -> _Forward:
    refuse_overwritten(calls)
    chain = chain_of(values, function.parameters.values())
    if chain is not None:
        return _Forward(values, calls, chain_uses(chain), set(), {}, None, set())
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
    return _Forward(values, calls, *found, graph, ids)


def features(
    function: NetworkFunction,
    batch: Batch,
    reference: ReferencePass,
    budget_bytes: int,
    *,
    check_examples: bool = True,
) -> tuple[Features, Known | None]:
    """Record one forward, pull each output back to the layers, and check the factors.

    `check_examples` compares the outputs with those of a rearranged batch, which takes another
    forward: a request cut into blocks does so for its first. The second part of the answer is
    what may be remembered of this net.
    """
    sizes, parameters = reference.sizes, function.parameters
    moved = rearranged(function, batch, sizes.layout) if check_examples else None
    trace: Trace = []
    with recorded(parameterised(function.model)) as calls:
        raw = function.raw(batch, sizes.layout, trace=trace)
    values = function.select(raw, batch, trace)
    assert isinstance(raw, Tensor)
    reference.check_outputs(function, raw)
    if moved is not None:
        moved.check(function, batch, raw.detach(), values.detach())
    del raw
    apart = keep_apart(reference.trace, trace, sizes.examples, len(batch))
    if not apart and check_examples:
        check_gradients_apart(function, batch, values)
    if not apart and len(batch) > sizes.examples:
        # Rows may be of other examples than their order says: the first ones prove too little.
        reference = reference.of_whole_batch(function, values)
    forward = _forward(function, values, calls, sizes)
    del values, calls
    slow, offered, firsts = forward.slow, dict[str, Factor](), dict[str, bool]()
    certain = True
    for name, parameter in parameters.items():
        key = id(parameter)
        if key in forward.uses:
            offered[name], firsts[name] = merged(forward.uses[key]), True
        elif key in forward.in_graph:
            offered[name], firsts[name] = _better_order(
                forward.in_graph[key], name, parameter, reference
            )
        elif reference.gradients[name].any():
            slow.add(key)  # else nothing uses it, and its features are zero
        else:  # ... or it is zero today
            certain &= forward.graph is not None and not forward.graph.has_leaf(parameter)
    slow -= forward.in_graph.keys()
    found = _trusted(offered, reference, forward.values, function)
    wrong = [name for name in offered if name not in found and id(parameters[name]) in forward.uses]
    if wrong and forward.graph is not None:
        certain = False
        found |= _second_attempt(forward.graph, wrong, forward.values, reference, function)
        for name in wrong:  # whatever its module was called for, that is not how it is used
            forward.uses.pop(id(parameters[name]))
    slow.update(id(parameters[name]) for name in offered if name not in found)
    names = [name for name, parameter in parameters.items() if id(parameter) in slow]
    known = None
    if certain and apart:
        known = remember(function, batch, sizes)
    if known is not None:
        signature = forward.graph.signature if forward.graph is not None else None
        covered = {name: firsts[name] for name in found}
        outside = frozenset(n for n, p in parameters.items() if id(p) in forward.outside)
        known.covered[len(batch)] = Covered(sizes, signature, outside, covered, names)
        known.independent |= {len(batch)} if check_examples else set()
    return _complete(function, batch, forward, found, names, budget_bytes), known


def _as_before(
    function: NetworkFunction, batch: Batch, known: Known, budget_bytes: int
) -> Features | None:
    """The features as they were found and checked before; None if the graph is another one."""
    covered = known.covered[len(batch)]
    sizes = covered.sizes
    with recorded(parameterised(function.model)) as calls:
        raw = function.raw(batch, sizes.layout, guarded=False)
    values = function.select(raw, batch)
    del raw
    forward = _forward(function, values, calls, sizes, covered.outside)
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
    forward: _Forward,
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


def _trusted(
    offered: dict[str, Factor],
    reference: ReferencePass,
    values: Tensor,
    function: NetworkFunction,
) -> dict[str, Factor]:
    """The factors that give the true gradient, of the reference pass or of this very forward.

    The two round differently, since the batch has another size. A ReLU whose input is nearly zero
    may open in one and close in the other, which changes the gradients of all layers below it.
    What changes them by more is a use of other examples.
    """
    doubted = [name for name, factor in offered.items() if not reference.agrees(name, factor)]
    if not doubted:
        return offered
    same = reference.of_same_forward(function, values)
    if len(reference.cotangent) == len(reference.batch):  # not a reference of this very forward
        check_alike(function, [reference.batch], same.gradients)
    wrong = {name for name in doubted if not same.agrees(name, offered[name])}
    return {name: factor for name, factor in offered.items() if name not in wrong}


def _better_order(
    uses: list[GraphUse], name: str, parameter: nn.Parameter, reference: ReferencePass
) -> tuple[Factor, bool]:
    """Rows that count examples and time: the examples come first (True), or last."""
    first = graph_factor(uses, parameter, examples_first=True)
    error = reference.error(name, first)
    if error <= reference.allowed(name):
        return first, True
    last = graph_factor(uses, parameter, examples_first=False)
    return (last, False) if reference.error(name, last) < error else (first, True)


def _second_attempt(
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
        name: _better_order(found[id(function.parameters[name])], name, parameter, reference)[0]
        for name in names
        if id(parameter := function.parameters[name]) in found
    }
    return _trusted(offered, reference, values, function)


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
