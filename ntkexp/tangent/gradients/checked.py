"""Features that have been compared with autograd's own gradients, as far as that is not known."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor, nn

from ntkexp.tangent.batch import Batch
from ntkexp.tangent.checks.gradients_apart import (
    check_gradients_apart,
    check_on_first,
)
from ntkexp.tangent.checks.independence import rearranged
from ntkexp.tangent.checks.known import Covered, Known, recall, remember
from ntkexp.tangent.checks.operations import Trace, keep_apart
from ntkexp.tangent.factors.factor import Factor, Outer, merged
from ntkexp.tangent.features import Features, by_layer, layer_of, passes_cost
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.gradients.fallback import jacobians
from ntkexp.tangent.gradients.forward import Forward, forward_of
from ntkexp.tangent.gradients.graph_uses import graph_factor
from ntkexp.tangent.gradients.trusted import better_order, second_attempt, trusted
from ntkexp.tangent.memory.available import budget_or_default
from ntkexp.tangent.passes.calls import (
    parameterised,
    recorded,
)
from ntkexp.tangent.passes.reference import ReferencePass, Sizes, reference_pass


class CheckedFeatures:
    """The features of the batches of one request. What is known of the network is not checked
    again."""

    def __init__(self, function: NetworkFunction, first: Batch, budget_bytes: int | None) -> None:
        self.function = function
        self.known = recall(function, first)
        known_sizes = self.known.sizes if self.known is not None else None
        self._reference = None if known_sizes is not None else reference_pass(function, first)
        self.sizes: Sizes = known_sizes or self._first_reference.sizes
        self.budget_bytes = budget_or_default(budget_bytes, self.sizes.like.device)
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
    forward = forward_of(function, values, calls, sizes)
    del values, calls
    slow, offered, firsts = forward.slow, dict[str, Factor](), dict[str, bool]()
    certain = True
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
    forward = forward_of(function, values, calls, sizes, covered.outside)
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
