"""The autograd graph of a forward as a list, and which axis of each tensor counts the examples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.autograd.graph import Node

# Name and output shape of every node, in the order of a depth-first walk from the outputs.
Signature: TypeAlias = list[tuple[str, tuple[int, ...] | None]]

# Operations that may put rows in another order.
MOVES_ROWS = ("Index", "Gather", "Scatter", "Sort", "Take", "Topk", "Masked", "Roll", "Flip")


@dataclass(frozen=True)
class ExampleAxis:
    """Axis `axis` of a tensor has n * times entries, `times` for each of n examples."""

    axis: int
    times: int


class Graph:
    """Nodes, who consumes whose output, and the examples' axes, found by comparing two forwards.

    The same model on batches of another size has the same graph. The axis whose size follows the
    size of the batch counts the examples; a tensor without one is computed from parameters alone
    and shared by all examples.
    """

    def __init__(self, values: Tensor, reference: Signature, examples: int, few: int) -> None:
        self.nodes = _walk(values)
        self.consumers: dict[Node, list[tuple[Node, int, int]]] = {}
        for node in self.nodes:
            for index, (after, output) in enumerate(node.next_functions):
                if after is not None:
                    self.consumers.setdefault(after, []).append((node, index, output))
        self.signature: Signature = [(node.name(), _shape(node)) for node in self.nodes]
        self.axes: dict[Node, ExampleAxis | None] = {}
        self.known = self._compare(reference, examples, few)

    def _compare(self, reference: Signature, examples: int, few: int) -> bool:
        """Whether the two graphs have the same form; fills `axes`."""
        found = self.signature
        if examples == few or [name for name, _ in found] != [name for name, _ in reference]:
            return False
        for node, (_, shape), (_, other) in zip(self.nodes, found, reference, strict=True):
            if shape is None or other is None or len(shape) != len(other):
                continue
            changed = [a for a, (s, o) in enumerate(zip(shape, other, strict=True)) if s != o]
            if not changed:
                self.axes[node] = None
                continue
            axis = changed[0]
            times = shape[axis] // examples
            if len(changed) == 1 and shape[axis] == examples * times and other[axis] == few * times:
                self.axes[node] = ExampleAxis(axis, times)
        return True

    def has_leaf(self, parameter: Tensor) -> bool:
        return any(
            getattr(node, "variable", None) is parameter
            for node in self.nodes
            if not node.next_functions
        )

    @property
    def may_move_rows(self) -> bool:
        """Whether rows inside the network may stand in another order than the examples."""
        unknown = any(node not in self.axes for node in self.nodes if node.next_functions)
        return unknown or moves_rows(self.nodes)

    def is_shared(self, node: Node) -> bool:
        return node in self.axes and self.axes[node] is None

    def has_examples_elsewhere(self, node: Node) -> bool:
        """Whether the output of `node` is known not to count examples on its first axis."""
        axis = self.axes.get(node)
        return node in self.axes and (axis is None or axis.axis != 0)


def moves_rows(graph: Tensor | list[Node]) -> bool:
    """Whether any operation is of a kind that may put rows in another order, or is unknown."""
    nodes = _walk(graph) if isinstance(graph, Tensor) else graph
    names = [node.name() for node in nodes if node.next_functions]
    # The operations of torch have a number at the end, functions written by a user have not.
    return any(not name[-1].isdigit() or any(word in name for word in MOVES_ROWS) for name in names)


def signature(values: Tensor) -> Signature:
    return [(node.name(), _shape(node)) for node in _walk(values)]


def output_shape(node: Node, output: int = 0) -> torch.Size:
    metadata: Any = node._input_metadata
    return torch.Size(metadata[output].shape)


def _shape(node: Node) -> tuple[int, ...] | None:
    try:
        return tuple(output_shape(node))
    except (AttributeError, IndexError, RuntimeError):
        return None


def _walk(values: Tensor) -> list[Node]:
    if values.grad_fn is None:
        return []
    found: dict[Node, None] = {}
    waiting: list[Node] = [values.grad_fn]
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        found[node] = None
        following: Iterable[Node | None] = [after for after, _ in node.next_functions]
        waiting.extend(after for after in reversed([*following]) if after is not None)
    return [*found]
