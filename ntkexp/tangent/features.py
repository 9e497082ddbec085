"""The features of a batch: a factor for every parameter, read off one forward and its backwards.

forward            its graph tells who uses which parameter, and which axis counts the examples
k backwards        bring the gradients of the k outputs to the operations that use parameters
a factor           for each parameter, of what these operations have kept and received
comparison         with autograd's own gradient, once for each form of inputs
torch.func         for the parameters that have no rule
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

import torch
from torch import Tensor
from torch.autograd.graph import Node

from ntkexp.errors import UserError
from ntkexp.machine import on_gpu
from ntkexp.tangent.backwards import (
    Truth,
    first_line,
    output_cotangents,
    random_cotangent,
    receive_gradients,
)
from ntkexp.tangent.batch import Batch
from ntkexp.tangent.factors import Factor, Outer, merged
from ntkexp.tangent.fallback import jacobians
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.graph import Axes, Graph, Outline, Use, bytes_of_factors, uses_of
from ntkexp.tangent.independence import ROWS, Again, Check, asked, check_independent, gates_open
from ntkexp.tangent.memory import SavedBytes, budget_or_default
from ntkexp.tangent.state import preserve_model_state

# Of the outputs (n, c) and the examples' indices: cotangents a (n, c) of sum_c a_ic f_ic.
Slopes: TypeAlias = Callable[[Tensor, Tensor], Sequence[Tensor]]
SMALL_BYTES_CPU = 32 * 2**20
SMALL_BYTES_CUDA = 256 * 2**20


@dataclass
class Features:
    """Factors of every trainable parameter, by layer, in the order of the forward.

    A layer is a module that owns parameters; its name is the first under which the model has it.
    `fallback` names the parameters without a rule, `flops` is what the passes took.
    """

    layers: dict[str, dict[str, Factor]]
    examples: int
    outputs: int
    fallback: list[str]
    flops: float

    @property
    def by_parameter(self) -> dict[str, Factor]:
        """The factors of all layers."""
        return {name: factor for layer in self.layers.values() for name, factor in layer.items()}

    def part(self, examples: slice) -> Features:
        """The features of some examples."""
        layers = {
            layer: {name: factor.part(examples) for name, factor in factors.items()}
            for layer, factors in self.layers.items()
        }
        return replace(self, layers=layers, examples=len(range(self.examples)[examples]))

    def summed(self) -> Features:
        """Features of one output, whose kernel is the sum of this one over outputs."""
        summed = {
            layer: {name: factor.summed() for name, factor in factors.items()}
            for layer, factors in self.layers.items()
        }
        return replace(self, layers=summed, outputs=1)


def layer_of(parameter: str) -> str:
    """The module that owns a parameter; a parametrisation belongs to the module it serves.

    >>> layer_of("stage.0.weight"), layer_of("head.parametrizations.weight.original0")
    ('stage.0', 'head')
    """
    owner = parameter.rpartition(".")[0]
    return f".{owner}".partition(".parametrizations.")[0][1:]


@dataclass(frozen=True)
class Sizes:
    """Sizes measured on a few examples, for passes of many."""

    outputs: int
    like: Tensor  # of no length, of the outputs' type and device
    bytes_per_example: int

    def is_small(self, examples: int) -> bool:
        """True where starting operations takes longer than doing them: gradients fit the cache."""
        limit = SMALL_BYTES_CUDA if on_gpu(self.like.device) else SMALL_BYTES_CPU
        return examples * self.bytes_per_example <= limit


@dataclass
class Findings:
    """Facts about a function on inputs of one form, which are found out once.

    sizes, few    of a forward of a few examples: sizes, and the outline of its graph
    independent   True once nothing is to be looked for any more; `proved`, if it was looked for
                  with care and not found, by this request or an earlier one
    names, axes   of the graph of a batch, and the axes that count its examples
    moving        True where rows may stand in another order than the examples
    compared      the parameters that were compared with autograd; of these are
    slow          those without a rule, and
    time_first    those whose rows count examples and time, the time first
    gates         those that multiply something: while one of them is zero it hides what it gates
    """

    sizes: Sizes | None = None
    few: Outline | None = None
    independent: bool = False
    proved: bool = False
    names: list[str] = field(default_factory=list)
    axes: Axes = ()
    moving: bool = False
    compared: set[str] = field(default_factory=set)
    slow: set[str] = field(default_factory=set)
    time_first: set[str] = field(default_factory=set)
    gates: set[str] = field(default_factory=set)

    def copy(self) -> Findings:
        """For another request, which has to look for itself whether examples interact."""
        compared, slow, time_first = {*self.compared}, {*self.slow}, {*self.time_first}
        kept = replace(self, compared=compared, slow=slow, time_first=time_first)
        return replace(kept, gates={*self.gates}, independent=False)


class Reading:
    """One forward's graph, and the factors of sum_c a_ic f_ic for each of some cotangents a (n, c).

    `factors` has those of the parameters that have a rule, `slow` the names of the others, `order`
    all that the graph uses, as the forward meets them.
    """

    def __init__(
        self,
        function: NetworkFunction,
        batch: Batch,
        values: Tensor,
        cotangents: Sequence[Tensor],
        findings: Findings,
        together: bool = False,
    ) -> None:
        self.parameters, self.values, self.together = function.parameters, values, together
        self.findings, self.graph = findings, Graph(values)
        try:
            self._read(function, batch, cotangents)
        except RuntimeError as error:
            raise UserError(f"the model cannot be differentiated: {first_line(error)}") from error
        del self.values, self.graph  # they take most of the memory

    def _read(self, function: NetworkFunction, batch: Batch, cotangents: Sequence[Tensor]) -> None:
        findings, graph = self.findings, self.graph
        if not graph.outline.fits(findings.names, findings.axes):
            findings.names, findings.axes = graph.outline.names, self._axes(function, batch)
            findings.moving = graph.may_move_rows(findings.axes)
            findings.compared, findings.slow, findings.time_first = set(), set(), set()
            findings.gates = set()
        leaves = graph.leaves(self.parameters)
        self.order = [*leaves]
        if findings.moving or not leaves.keys() <= findings.compared:
            self._compared(leaves, cotangents, len(self.values) if findings.moving else ROWS)
        else:
            ruled = {name: leaf for name, leaf in leaves.items() if name not in findings.slow}
            self.factors = self._factors(ruled, cotangents)
        self.slow = [name for name in self.parameters if name in findings.slow]
        if findings.moving:  # rows in another order may be in a third one next time
            findings.compared, findings.slow = set(), set()

    def _axes(self, function: NetworkFunction, batch: Batch) -> Axes:
        """The axes that count examples, from the graph of a few of them."""
        outline, few = self.graph.outline, self.findings.few
        axes = None if few is None else outline.axes(few)
        if axes is None:
            with preserve_model_state(function.model, tf32=True):
                axes = outline.axes(Graph(function(few_of(batch))).outline)
        return axes or (None,) * len(self.graph.nodes)

    def _uses(self, leaves: Mapping[str, Node], outputs: int) -> dict[str, list[Use]]:
        return uses_of(self.graph, self.findings.axes, leaves, outputs, self.findings.time_first)

    def _factors(
        self, leaves: Mapping[str, Node], cotangents: Sequence[Tensor]
    ) -> dict[str, Factor]:
        """The factors of the leaves all of whose uses have a rule."""
        uses = self._uses(leaves, len(cotangents))
        operations = {id(use.operation): use.operation for some in uses.values() for use in some}
        receive_gradients(self.values, [*operations.values()], cotangents, self.together)
        self.flops = sum(operation.flops for operation in operations.values())
        factors = {
            name: merged([use.factor(self.parameters[name]) for use in of_leaf])
            for name, of_leaf in uses.items()
            if of_leaf
        }
        _share_biases(factors, uses)
        self.adding = {name for name, of_leaf in uses.items() if all(use.adds for use in of_leaf)}
        return factors

    def _compared(
        self, leaves: Mapping[str, Node], cotangents: Sequence[Tensor], rows: int
    ) -> None:
        """The factors that give autograd's gradient of a random sum of the outputs of the first
        `rows` examples; all other parameters are slow."""
        findings = self.findings
        a = random_cotangent(self.values[:, :1].detach().expand(-1, len(cotangents)))
        a[rows:] = 0
        random_sum = torch.stack([*cotangents], 1).mul(a.unsqueeze(2)).sum(1)
        truth = Truth(self.values, self.parameters, random_sum)
        if any(axis is not None and axis.times > 1 for axis in findings.axes):
            self._find_time_first(leaves, random_sum, truth, rows)
        offered = self._factors(leaves, cotangents)
        self.factors = {n: f for n, f in offered.items() if truth.agrees(n, f, a[:rows])}
        for name, factor in self.factors.items():
            if isinstance(factor, Outer) and factor.bias not in self.factors:
                self.factors[name] = replace(factor, bias="")
        # A parameter that the graph does not show may be used all the same.
        hidden = {n for n, grad in truth.gradients.items() if n not in leaves and grad.any()}
        findings.slow = (leaves.keys() - self.factors.keys()) | hidden
        findings.compared |= leaves.keys()
        findings.gates |= (leaves.keys() - self.adding) | findings.slow

    def _find_time_first(
        self, leaves: Mapping[str, Node], random_sum: Tensor, truth: Truth, rows: int
    ) -> None:
        """Note the parameters whose rows count examples and time with the time first: one backward
        tells, before those of all outputs."""
        counting_time = {
            name: leaves[name]
            for name, uses in self._uses(leaves, 1).items()
            if any(use.operation.axis.times > 1 for use in uses)
        }
        a = torch.linspace(1, 2, len(self.values)).to(random_sum).unsqueeze(1)  # no two alike
        for name, factor in self._factors(counting_time, [random_sum / a]).items():
            if not truth.agrees(name, factor, a[:rows]):
                self.findings.time_first ^= {name}


def _share_biases(factors: dict[str, Factor], uses: Mapping[str, Sequence[Use]]) -> None:
    """Mark weights whose bias is in the same single operation: sum_d v_d is its gradient."""
    for name, factor in factors.items():
        bias = f"{layer_of(name)}.bias".lstrip(".")
        if not isinstance(factor, Outer) or bias not in factors or bias == name:
            continue
        if factors[bias].parameters != factor.u.groups * factor.v.shape[3]:
            continue  # one bias for all channels
        both = [*uses[name], *uses[bias]]
        together = len({id(use.operation) for use in both}) == 1
        if together and len(both) == 2 and not any(use.shared for use in both):
            factors[name] = replace(factor, bias=bias)


class CheckedFeatures:
    """The features of the batches of one request. Nothing that `findings` has is checked again."""

    def __init__(
        self,
        function: NetworkFunction,
        first: Batch,
        budget_bytes: int | None,
        check: Check,
        findings: Findings,
    ) -> None:
        self.function, self.findings = function, findings
        if findings.sizes is None:
            findings.sizes, findings.few = _measured(function, first)
        self.sizes = findings.sizes
        self.budget_bytes = budget_or_default(budget_bytes, self.sizes.like.device)
        self._look: Callable[[], bool | None] | None = None
        if not findings.independent:
            rows = self.budget_bytes // self.sizes.bytes_per_example
            look = partial(check_independent, function, first, check, rows)
            if findings.proved and asked(check)[0] and gates_open(function, findings.gates):
                self._look = look  # if a second look in `of` shows anything
            else:
                self._look_with_care(look)
            findings.independent = len(first) > 1

    def of(self, batch: Batch, slopes: Slopes | None = None) -> Features:
        """The factors of every parameter for a batch that fits into memory; with `slopes` of the
        sums over outputs that these make."""
        if len(batch) == 1:  # torch has operations of its own for a single row
            twice = batch[torch.zeros(2, dtype=torch.long, device=batch.indices.device)]
            return self.of(twice, slopes).part(slice(0, 1))
        names, again = self.findings.names, Again(self.function, batch) if self._look else None
        values = self.function(batch)
        if again and not again.agrees(values):
            self._look_with_care(self._look)
        small = self.sizes.is_small(len(batch))
        cotangents = (
            output_cotangents(values) if slopes is None else slopes(values.detach(), batch.indices)
        )
        reading = Reading(self.function, batch, values, cotangents, self.findings, small)
        del values
        if self.findings.names is not names:  # another graph than the one looked at
            self._look_with_care(self._look)
        self._look = None
        factors = reading.factors
        if reading.slow:
            rows = jacobians(self.function, batch, reading.slow, self.budget_bytes)
            if slopes is not None:
                a = torch.stack([*cotangents])
                for row in rows.values():
                    row.values = torch.einsum("mnk,nkp->nmp", a, row.values)
            factors |= rows
        layers: dict[str, dict[str, Factor]] = {}
        for name in [*reading.order, *self.function.parameters]:
            layer = layers.setdefault(layer_of(name), {})
            if name in factors:
                layer[name] = factors[name]
        return Features(layers, len(batch), len(cotangents), reading.slow, reading.flops)

    def _look_with_care(self, look: Callable[[], bool | None] | None) -> None:
        found, self._look = look and look(), None
        if found is not None:
            self.findings.proved = found


class Summed:
    """Features of one output, whose kernel is the sum over the outputs of those of `features`."""

    def __init__(self, features: CheckedFeatures) -> None:
        self.features, self.function = features, features.function
        self.sizes = replace(features.sizes, outputs=1)
        self.budget_bytes = features.budget_bytes

    def of(self, batch: Batch) -> Features:
        return self.features.of(batch).summed()


def few_of(batch: Batch) -> Batch:
    """The first two examples; of fewer than three, as many more that its size is another.

    >>> few_of(Batch.of(torch.zeros(2, 4))).indices
    tensor([0, 1, 0])
    """
    size = 2 if len(batch) > 2 else len(batch) + 1
    return batch[torch.arange(size, device=batch.indices.device) % len(batch)]


def _measured(function: NetworkFunction, batch: Batch) -> tuple[Sizes, Outline]:
    """The sizes of a forward of a few examples."""
    few, saved = few_of(batch), SavedBytes(function.model)
    with saved.counting():
        values = function(few)
    graph = Graph(values)
    kept = saved.bytes + bytes_of_factors(graph, values, function.parameters)
    like = values.detach().new_empty(0)
    return Sizes(values.shape[1], like, kept // len(few) + 1), graph.outline
