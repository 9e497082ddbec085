"""The autograd graph of a forward, and the axis of every tensor in it that counts the examples.

A forward leaves a graph behind: one node for each operation, with what the operation has kept for
its backward. All features are read off it. Nothing else of the model need be known.

Which axis counts the examples is found by comparing the graphs of two batches of different sizes:
it is the axis whose length changes. A tensor without such an axis is computed from parameters
alone and shared by all examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node

from ntkexp.errors import UserError

# Operations that may put rows in another order.
MOVES_ROWS = ("Index", "Gather", "Scatter", "Sort", "Take", "Topk", "Masked", "Roll", "Flip")


class ExampleAxis(NamedTuple):
    """Axis `axis` of a tensor has n * times entries, `times` for each of n examples."""

    axis: int
    times: int


SHARED = ExampleAxis(-1, 0)  # computed from parameters alone
# By node; None where the axis could not be found.
Axes: TypeAlias = tuple[ExampleAxis | None, ...]


class Outline(NamedTuple):
    """Name and output shape of every node of a graph, and the number of examples."""

    names: list[str]
    shapes: list[tuple[int, ...] | None]
    examples: int

    def axes(self, other: Outline) -> Axes | None:
        """By node, from the same model's graph of another number of examples; None if it is not
        the same graph."""
        if self.examples == other.examples or self.names != other.names:
            return None
        return tuple(
            _axis(shape, self.examples, smaller, other.examples)
            for shape, smaller in zip(self.shapes, other.shapes, strict=True)
        )

    def fits(self, names: Sequence[str], axes: Axes) -> bool:
        """Whether axes that were found before, in a graph of these names, are those of this one."""
        return self.names == names and all(
            axis in (None, SHARED)
            or (
                shape is not None
                and len(shape) > axis.axis
                and shape[axis.axis] == axis.times * self.examples
            )
            for shape, axis in zip(self.shapes, axes, strict=True)
        )


def _axis(
    shape: tuple[int, ...] | None, examples: int, smaller: tuple[int, ...] | None, few: int
) -> ExampleAxis | None:
    if shape is None or smaller is None or len(shape) != len(smaller):
        return None
    changed = [axis for axis, size in enumerate(shape) if size != smaller[axis]]
    if not changed:
        return SHARED
    axis, times = changed[0], shape[changed[0]] // examples
    whole = shape[axis] == examples * times and smaller[axis] == few * times
    return ExampleAxis(axis, times) if len(changed) == 1 and whole else None


class Graph:
    """The nodes behind `values` (n, k), in the order of a walk from the outputs down.

    `consumers` has, by node, who takes which of its outputs as which input: (node, input, output).
    """

    def __init__(self, values: Tensor) -> None:
        if values.grad_fn is None:
            raise UserError(
                "no output depends on a trainable parameter as far as autograd sees: is there a "
                "detach, no_grad or numpy in the forward?"
            )
        self.nodes = walk(values)
        self.outline = Outline(
            [node.name() for node in self.nodes], [_shape(node) for node in self.nodes], len(values)
        )
        self.consumers: dict[Node, list[tuple[Node, int, int]]] = {}
        for node in self.nodes:
            for index, (after, output) in enumerate(node.next_functions):
                if after is not None:
                    self.consumers.setdefault(after, []).append((node, index, output))

    def leaves(self, parameters: Mapping[str, nn.Parameter]) -> dict[str, Node]:
        """The nodes of the parameters that the graph uses, in the order of the forward."""
        names = {id(parameter): name for name, parameter in parameters.items()}
        # Asking a node that is no leaf for its variable is slow.
        found = [
            (min(user._sequence_nr() for user, _, _ in self.consumers[node]), names[key], node)
            for node in self.nodes
            if not node.next_functions and (key := id(getattr(node, "variable", None))) in names
        ]
        return {name: node for _, name, node in sorted(found, key=lambda entry: entry[0])}

    def may_move_rows(self, axes: Axes) -> bool:
        """Whether rows inside the network may stand in another order than the examples."""
        return any(
            # The operations of torch have a number at the end, functions written by a user do not.
            axis is None or not name[-1].isdigit() or any(word in name for word in MOVES_ROWS)
            for node, name, axis in zip(self.nodes, self.outline.names, axes, strict=True)
            if node.next_functions and axis != SHARED
        )


def output_shape(node: Node, output: int = 0) -> torch.Size:
    metadata: Any = node._input_metadata
    return torch.Size(metadata[output].shape)


def _shape(node: Node) -> tuple[int, ...] | None:
    try:
        return tuple(output_shape(node))
    except (AttributeError, IndexError, RuntimeError):
        return None


def walk(values: Tensor) -> list[Node]:
    """Every node that `values` came out of, each once."""
    if values.grad_fn is None:
        return []
    seen: dict[Node, None] = {}
    waiting: list[Node] = [values.grad_fn]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen[node] = None
        following = [after for after, _ in node.next_functions if after is not None]
        waiting.extend(reversed(following))
    return [*seen]


def passed_through(values: Tensor, nodes: Sequence[Node]) -> list[bool]:
    """For each node, whether a backward of `values` goes on from it to another of them."""
    before: dict[Node, list[Node]] = {}
    for node in walk(values):
        for after, _ in node.next_functions:
            if after is not None:
                before.setdefault(after, []).append(node)
    waiting = [user for node in nodes for user in before.get(node, [])]
    reaching = set(waiting)
    while waiting:
        for user in before.get(waiting.pop(), []):
            if user not in reaching:
                reaching.add(user)
                waiting.append(user)
    return [node in reaching for node in nodes]
