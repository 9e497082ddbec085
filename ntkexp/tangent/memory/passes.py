"""How much memory an example takes in the passes of a kernel, counted on a few examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import prod

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node
from torch.nn.modules.conv import _ConvNd

from ntkexp.tangent.gradients.graph import output_shape
from ntkexp.tangent.passes.calls import Call, graph_nodes
from ntkexp.tangent.rules import rule_for
from ntkexp.tangent.rules.norm import NormRule

# Whole gradients are large pieces of memory, which the allocator does not place without gaps.
SLACK = 1.6


class SavedBytes:
    """How much a forward keeps for its backward, each piece of memory once, weights apart."""

    def __init__(self, model: nn.Module) -> None:
        tensors = [*model.parameters(), *model.buffers()]
        self._seen = {tensor.untyped_storage().data_ptr() for tensor in tensors}
        self.bytes = 0

    @contextmanager
    def counting(self) -> Iterator[None]:
        with torch.autograd.graph.saved_tensors_hooks(self._count, lambda tensor: tensor):
            yield

    def _count(self, tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in self._seen:
            self._seen.add(storage.data_ptr())
            self.bytes += storage.nbytes()
        return tensor.detach()  # the tensor itself would close a cycle with the node that saves it


def bytes_of_calls(
    calls: Iterable[Call], values: Tensor, parameters: dict[str, nn.Parameter]
) -> int:
    """What the factors of a recorded forward take, beside what autograd has saved.

    The gradients of k outputs at every layer, what the products of the largest layer copy, three
    activations under way in a backward, and whole per-example gradients where there is no rule.
    """
    examples, k = values.shape
    wanted = {id(parameter): parameter.numel() for parameter in parameters.values()}
    numbers = largest = copied = 0
    for call in calls:
        module = call.module
        largest = max(largest, call.shape.numel())
        rule = rule_for(module)
        if rule is None:
            continue
        own = {key: p for key, p in module._parameters.items() if p is not None}
        known = {key: wanted.pop(id(p)) for key, p in own.items() if id(p) in wanted}
        numbers += 0 if call.input_node is not None else call.input.numel()
        if issubclass(rule, NormRule):
            numbers += k * examples * sum(known.values()) + call.shape.numel()
            largest = max(largest, 2 * call.shape.numel())
            continue
        numbers += k * examples * known.get("bias", 0)
        if "weight" in known:
            gradients, inputs = _outer_numbers(call)
            numbers += k * gradients
            copied = max(copied, inputs + (k * gradients if gradients < inputs else 0))
    numbers += k * _without_module_rule(values, wanted)
    return (numbers + 3 * largest + copied) * values.element_size()


def _without_module_rule(values: Tensor, wanted: dict[int, int]) -> int:
    """Numbers for one output: twice the outputs of single operations, or whole gradients."""
    consumers: dict[Node, list[Node]] = {}
    for node in graph_nodes(values):
        for after, _ in node.next_functions:
            if after is not None:
                consumers.setdefault(after, []).append(node)
    numbers = 0
    for leaf in consumers:
        key = id(getattr(leaf, "variable", None)) if not leaf.next_functions else 0
        if key not in wanted:
            continue
        whole = int(SLACK * len(values) * wanted[key])
        uses = [
            use
            for one in consumers[leaf]
            for use in (consumers.get(one, []) if one.name() == "TBackward0" else [one])
        ]
        products = [use for use in uses if use.name() in ("MmBackward0", "AddmmBackward0")]
        if len(products) == len(uses):
            whole = min(whole, 2 * sum(output_shape(use).numel() for use in products))
        numbers += whole
    return numbers


def _outer_numbers(call: Call) -> tuple[int, int]:
    """Numbers of output gradients v (of one output) and of inputs u, copied out of their image."""
    module = call.module
    if isinstance(module, _ConvNd):
        positions = call.shape[0] * prod(call.shape[2:])
        return call.shape.numel(), positions * module.weight[0].numel() * module.groups
    return call.shape.numel(), call.input.numel()
