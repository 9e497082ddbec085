"""Features that have been compared with autograd's own gradients."""

from __future__ import annotations

from dataclasses import replace

from torch import nn

from ntkexp.tangent.batch import Batch
from ntkexp.tangent.checks.independence import Check, check_independent
from ntkexp.tangent.factors.factor import Factor, Outer, merged
from ntkexp.tangent.features import Features, by_layer, layer_of, passes_cost
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.gradients.fallback import jacobians
from ntkexp.tangent.gradients.forward import Forward, forward_of
from ntkexp.tangent.gradients.trusted import better_order, second_attempt, trusted
from ntkexp.tangent.memory.available import budget_or_default
from ntkexp.tangent.passes.calls import (
    parameterised,
    recorded,
)
from ntkexp.tangent.passes.reference import ReferencePass, Sizes, reference_pass


class CheckedFeatures:
    """The features of the batches of one request, whose examples are independent."""

    def __init__(
        self,
        function: NetworkFunction,
        first: Batch,
        budget_bytes: int | None,
        check: Check,
    ) -> None:
        self.function = function
        self._reference = reference_pass(function, first)
        self.sizes: Sizes = self._reference.sizes
        self.budget_bytes = budget_or_default(budget_bytes, self.sizes.like.device)
        check_independent(
            function, first, check, rows=self.budget_bytes // self.sizes.bytes_per_example
        )

    def of(self, batch: Batch, whole: bool) -> Features:
        """`whole` says that the batch is the request, and not a block of it."""
        reference = self._reference if whole else reference_pass(self.function, batch)
        return features(self.function, batch, reference, self.budget_bytes)


def features(
    function: NetworkFunction, batch: Batch, reference: ReferencePass, budget_bytes: int
) -> Features:
    """Record one forward, pull each output back to the layers, and check the factors."""
    sizes, parameters = reference.sizes, function.parameters
    with recorded(parameterised(function.model)) as calls:
        values = function(batch, sizes.layout)
    forward = forward_of(function, values, calls, sizes)
    if len(batch) > sizes.examples and forward.graph is not None and forward.graph.may_move_rows:
        # The first examples prove too little.
        reference = reference.of_whole_batch(function, values)
    del values, calls
    slow, offered = forward.slow, dict[str, Factor]()
    for name, parameter in parameters.items():
        key = id(parameter)
        if key in forward.uses:
            offered[name] = merged(forward.uses[key])
        elif key in forward.in_graph:
            offered[name] = better_order(forward.in_graph[key], name, parameter, reference)
        elif reference.gradients[name].any():
            slow.add(key)  # else nothing uses it, and its features are zero
    slow -= forward.in_graph.keys()
    found = trusted(offered, reference, forward.values, function)
    wrong = [name for name in offered if name not in found and id(parameters[name]) in forward.uses]
    if wrong and forward.graph is not None:
        found |= second_attempt(forward.graph, wrong, forward.values, reference, function)
        for name in wrong:  # whatever its module was called for, that is not how it is used
            forward.uses.pop(id(parameters[name]))
    slow.update(id(parameters[name]) for name in offered if name not in found)
    names = [name for name, parameter in parameters.items() if id(parameter) in slow]
    return _complete(function, batch, forward, found, names, budget_bytes)


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
