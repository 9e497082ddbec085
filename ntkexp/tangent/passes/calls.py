"""One forward that remembers what entered and left each parameterised module."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge

from ntkexp.errors import UserError


@dataclass
class Call:
    """One use of a module: its input, and the place of its output in the autograd graph.

    The place is an edge, not a tensor: an in-place ReLU after the module changes the tensor's
    values and its graph node, the edge still means the output as the module gave it.
    """

    name: str
    module: nn.Module
    input: Tensor
    input_version: int
    input_node: Node | None
    edge: GradientEdge
    shape: torch.Size


def parameterised(model: nn.Module) -> dict[str, nn.Module]:
    """The modules that own parameters, by their first name."""
    return {
        name: module
        for name, module in model.named_modules()
        if any(p is not None for p in module._parameters.values())
    }


@contextmanager
def recorded(modules: dict[str, nn.Module]) -> Iterator[list[Call]]:
    """Every call of `modules` made inside by this thread, in order; no hooks remain.

    Calls whose output takes no gradient are left out: they contribute nothing.
    """
    calls: list[Call] = []
    handles = []
    thread = threading.get_ident()

    def hook_for(name: str) -> Any:
        def record(
            module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
        ) -> None:
            if threading.get_ident() != thread:
                return
            given = args[0] if args else kwargs.get("input")
            if isinstance(given, Tensor) and isinstance(output, Tensor) and output.requires_grad:
                calls.append(_call(name, module, given, output))

        return record

    try:
        for name, module in modules.items():
            handles.append(module.register_forward_hook(hook_for(name), with_kwargs=True))
        yield calls
    finally:
        for handle in handles:
            handle.remove()


def _call(name: str, module: nn.Module, given: Tensor, output: Tensor) -> Call:
    # Autograd guards its saved tensors against overwriting, but not the inputs of first layers.
    kept = given.detach() if given.requires_grad else given.detach().clone()
    return Call(
        name=name,
        module=module,
        input=kept,
        input_version=kept._version,
        input_node=given.grad_fn,
        edge=get_gradient_edge(output),
        shape=output.shape,
    )


def refuse_overwritten(calls: list[Call]) -> None:
    for call in calls:
        if call.input._version != call.input_version:
            raise UserError(
                f"layer {call.name}: its input is overwritten in place after it was used; "
                "make that operation out of place"
            )


def outside_uses(output: Tensor, calls: list[Call], parameters: list[nn.Parameter]) -> set[int]:
    """Ids of the parameters that the graph of `output` uses outside the recorded calls.

    Every edge of the graph into a parameter must start at a node that lies between the output
    and the input of a call of a module that owns the parameter.
    """
    wanted = {id(parameter) for parameter in parameters}
    following: dict[Node, list[Node]] = {}
    allowed: dict[Node, set[int]] = {}
    for call in calls:
        own = {id(p) for p in call.module._parameters.values()} & wanted
        stop = {call.input_node} if call.input_node is not None else set()
        for node in _nodes(call.edge.node, stop, following):
            allowed.setdefault(node, set()).update(own)
    outside = set()
    if output.grad_fn is not None:
        for node in _nodes(output.grad_fn, set(), following):
            for after in following[node]:
                if following[after]:
                    continue  # asking a node that is no leaf for its variable is slow
                key = id(getattr(after, "variable", None))
                if key in wanted and key not in allowed.get(node, ()):
                    outside.add(key)
    return outside


def passed_through(output: Tensor, edges: list[GradientEdge]) -> list[bool]:
    """For each edge, whether a backward of `output` goes on from it to another of them."""
    following: dict[Node, list[Node]] = {}
    if output.grad_fn is not None:
        _nodes(output.grad_fn, set(), following)
    before: dict[Node, list[Node]] = {}
    for node, after in following.items():
        for one in after:
            before.setdefault(one, []).append(node)
    waiting = [node for edge in edges for node in before.get(edge.node, [])]
    reaching = set(waiting)
    while waiting:
        for node in before.get(waiting.pop(), []):
            if node not in reaching:
                reaching.add(node)
                waiting.append(node)
    return [edge.node in reaching for edge in edges]


def graph_nodes(output: Tensor) -> set[Node]:
    """All nodes of the graph that `output` came out of."""
    return _nodes(output.grad_fn, set(), {}) if output.grad_fn is not None else set()


def _nodes(start: Node, stop: set[Node], following: dict[Node, list[Node]]) -> set[Node]:
    """Those reachable from `start` but not through `stop`; `following` remembers the edges."""
    seen = {start}
    waiting = [start]
    while waiting:
        node = waiting.pop()
        if node not in following:
            following[node] = [after for after, _ in node.next_functions if after is not None]
        for after in following[node]:
            if after not in seen and after not in stop:
                seen.add(after)
                waiting.append(after)
    return seen
