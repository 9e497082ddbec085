"""The autograd graph of a forward, and the axis of every tensor in it that counts the examples.

It is the axis whose length differs between the graphs of two batches of different sizes. A tensor
without such an axis is computed from parameters alone and shared by all examples.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, Node

from ntkexp.errors import UserError
from ntkexp.tangent.factors import Direct, Factor, Outer
from ntkexp.tangent.operations import ExampleAxis, Operation, Outers, Sums, UnfitError, output_shape

# Whole gradients are large pieces of memory, which the allocator does not place without gaps.
SLACK = 1.6
# Operations that may put rows in another order.
MOVES_ROWS = ("Index", "Gather", "Scatter", "Sort", "Take", "Topk", "Masked", "Roll", "Flip")


SHARED = ExampleAxis(-1, 0)  # computed from parameters alone
# By node; None where the axis could not be found.
Axes: TypeAlias = tuple[ExampleAxis | None, ...]


class Outline(NamedTuple):
    """Name and output shape of every node of a graph, and the number of examples."""

    names: list[str]
    shapes: list[tuple[int, ...] | None]
    examples: int

    def axes(self, other: Outline) -> Axes | None:
        """The axis of examples by node, from the same model's graph of another number of examples;
        None if that is not the same graph."""
        if self.examples == other.examples or self.names != other.names:
            return None
        return tuple(
            _axis(shape, self.examples, smaller, other.examples)
            for shape, smaller in zip(self.shapes, other.shapes, strict=True)
        )

    def fits(self, names: Sequence[str], axes: Axes) -> bool:
        """True where axes that were found in a graph of these names are those of this one."""
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
        entries = [
            (min(user._sequence_nr() for user, _, _ in self.consumers[node]), names[key], node)
            for node in self.nodes
            if not node.next_functions and (key := id(getattr(node, "variable", None))) in names
        ]
        return {name: node for _, name, node in sorted(entries, key=lambda entry: entry[0])}

    def may_move_rows(self, axes: Axes) -> bool:
        """True where rows inside the network may stand in another order than the examples."""
        return any(
            # The operations of torch have a number at the end, functions written by a user do not.
            axis is None or not name[-1].isdigit() or any(word in name for word in MOVES_ROWS)
            for node, name, axis in zip(self.nodes, self.outline.names, axes, strict=True)
            if node.next_functions and axis != SHARED
        )


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
    """True for each node from which a backward of `values` goes on to another of them."""
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


class Use(NamedTuple):
    """A parameter as input number `argument` of an operation: itself, `turned` (transposed), or a
    tensor computed from it alone, which leaves the graph's edge `shared`.
    """

    operation: Operation
    argument: int
    turned: bool
    shared: GradientEdge | None

    @property
    def adds(self) -> bool:
        """True where the parameter, itself, is added to something."""
        rule = self.operation.rules[self.argument]
        return self.shared is None and isinstance(rule, Sums) and rule.scale is None

    def factor(self, parameter: nn.Parameter) -> Factor:
        factor = self.operation.rules[self.argument].factor()
        if self.turned:
            assert isinstance(factor, Outer)
            return Outer(factor.u, factor.v, swapped=not factor.swapped)
        return factor if self.shared is None else _through(self.shared, factor, parameter)


def uses_of(
    graph: Graph, axes: Axes, leaves: Mapping[str, Node], outputs: int, time_first: Collection[str]
) -> dict[str, list[Use]]:
    """The uses of some leaves of the graph, by name; none where some use of a leaf has no rule, for
    a part of a sum is worth nothing.

    Of the parameters in `time_first`, rows that count examples and time have the time first.
    """
    by_node = dict(zip(graph.nodes, axes, strict=True))
    operations: dict[tuple[Node, bool], Operation] = {}
    uses: dict[str, list[Use]] = {}
    for name, leaf in leaves.items():
        try:
            uses[name] = _uses(graph, leaf, by_node, operations, outputs, name in time_first)
        except UnfitError:
            uses[name] = []
    return uses


def _uses(
    graph: Graph,
    leaf: Node,
    axes: Mapping[Node, Any],
    operations: dict[tuple[Node, bool], Operation],
    outputs: int,
    time_first: bool,
) -> list[Use]:
    """Walk from a parameter through what is shared to the operations with an axis of examples."""
    uses: list[Use] = []
    start: Any = leaf
    seen, waiting = {(leaf, 0)}, [(leaf, 0, start.variable.shape)]
    while waiting:
        node, output, shape = waiting.pop()
        for consumer, index, taken in graph.consumers.get(node, []):
            if taken != output:
                continue
            if axes[consumer] == SHARED:
                for result in {used for _, _, used in graph.consumers[consumer]}:
                    if (consumer, result) not in seen:
                        seen.add((consumer, result))
                        waiting.append((consumer, result, output_shape(consumer, result)))
                continue
            if axes[consumer] is None:
                raise UnfitError
            key = (consumer, time_first)
            if key not in operations:
                examples = graph.outline.examples
                operations[key] = Operation(consumer, axes[consumer], examples, outputs, time_first)
            operations[key].want(index, shape)
            turned = node.name() == "TBackward0" and node.next_functions[0][0] is leaf
            turned = turned and isinstance(operations[key].rules[index], Outers)
            shared = None if node is leaf or turned else GradientEdge(node, output)
            uses.append(Use(operations[key], index, turned, shared))
    return uses


def _through(shared: GradientEdge, factor: Factor, parameter: nn.Parameter) -> Direct:
    """Features by a parameter from those by a tensor computed from it: the chain rule."""
    rows = factor.jacobian()  # (n, k, numbers of the shared tensor)
    n, k = rows.shape[:2]
    cotangents = rows.reshape(n * k, *output_shape(shared.node, shared.output_nr))
    start: Any = shared

    def pulled(rows: Tensor, batched: bool) -> Any:
        return torch.autograd.grad(
            [start],
            [parameter],
            [rows],
            retain_graph=True,
            allow_unused=True,
            is_grads_batched=batched,
        )[0]

    # Of the outputs of one operation, as of torch._foreach_sub, some do not depend on it.
    if pulled(cotangents[0], False) is None:
        return Direct(parameter.detach().new_zeros(n, k, parameter.numel()))
    try:
        gradients = pulled(cotangents, True)
    except RuntimeError:  # an operation that vmap cannot follow
        gradients = torch.stack([pulled(row, False) for row in cotangents])
    return Direct(gradients.detach().reshape(n, k, -1))


def bytes_of_factors(graph: Graph, values: Tensor, parameters: Mapping[str, nn.Parameter]) -> int:
    """Bytes that the factors of a forward take, beside those that autograd has saved.

    The gradients of k outputs at every layer, what the products of the largest layer copy, three
    activations under way in a backward, and whole per-example gradients where there is no rule.
    """
    examples, k = values.shape
    numbers = largest = copied = 0
    for name, leaf in graph.leaves(parameters).items():
        whole, size = k * examples * parameters[name].numel(), 0
        users = [user for user, _, _ in graph.consumers[leaf]]
        turned = [user for node in users if node.name() == "TBackward0"
                  for user, _, _ in graph.consumers.get(node, [])]  # fmt: skip
        for user in [*(node for node in users if node.name() != "TBackward0"), *turned]:
            shape = output_shape(user)
            kind, weight = user.name(), parameters[name]
            largest = max(largest, shape.numel())
            outers = kind in ("MmBackward0", "AddmmBackward0", "EmbeddingBackward0")
            if weight.dim() > 1 and kind == "ConvolutionBackward0":
                gradients = k * shape.numel()
                patches = shape.numel() // shape[1] * weight[0].numel() * user._saved_groups  # type: ignore[attr-defined]
                copied = max(copied, patches + (gradients if gradients < k * patches else 0))
                size += gradients
            elif weight.dim() > 1 and outers:
                size += k * shape.numel()
            else:
                has_rule = kind.startswith(("Native", "Add", "Mul", "Expand", "Convolution"))
                size += whole if has_rule else int(SLACK * whole)
                size += shape.numel() if kind.startswith("Native") else 0
        numbers += size
    return (numbers + 3 * largest + copied) * values.element_size()
