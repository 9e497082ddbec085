"""Average tangent features along the segment from one set of weights to another, and their kernel.

By the fundamental theorem of calculus, with theta_t = (1 - t) theta_0 + t theta,

    f_theta - f_theta_0 = Phi (theta - theta_0),   Phi = integral over t of grad f_theta_t dt,

exactly (LeJeune and Alemohammad, "An Adaptive Tangent Feature Perspective of Neural Networks",
equation (2)); and K = Phi Phi^T is the adapted kernel (7). A rule of integration has points t and
weights; how far the identity is from holding tells how good it is.

Of a layer whose inputs are the same at all points (the first) or whose output gradients are (the
last), the mean is again a sum of outer products and is never written out. All else is summed as
(n, k, p), in one copy, some parameters at a time where not all fit into the budget.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent.batch import Batch, Outputs
from ntkexp.tangent.factors import Direct, Factor, Outer, Tied
from ntkexp.tangent.features import Features
from ntkexp.tangent.function import NetworkFunction, check_shapes, trainable
from ntkexp.tangent.independence import Check
from ntkexp.tangent.kernel import TangentKernel, add_layer
from ntkexp.tangent.mean_feature import MeanFeature, shared
from ntkexp.tangent.memory import Workspace, budget_or_default, default_budget
from ntkexp.tangent.positions import everything
from ntkexp.tangent.shape import mirror
from ntkexp.tangent.tangent_features import TangentFeatures

Rule: TypeAlias = Literal["linspace", "midpoint", "trapezoid"]
RULES: tuple[Rule, ...] = get_args(Rule)
# A parameter's features at one point stand beside their sum.
COPIES = 2

Name: TypeAlias = tuple[str, str]  # of a layer, and of a parameter


def quadrature(rule: Rule, points: int) -> list[tuple[float, float]]:
    """(t, weight) of a rule on [0, 1]; linspace is the plain mean of points with both ends.

    >>> quadrature("trapezoid", 3)
    [(0.0, 0.25), (0.5, 0.5), (1.0, 0.25)]
    """
    if rule not in RULES:
        raise UserError(f"rule {rule!r}: {', '.join(RULES)} are accepted")
    if points < 1 or (points < 2 and rule != "midpoint"):
        raise UserError(f"points={points}: rule {rule} needs {1 if rule == 'midpoint' else 2}")
    if rule == "midpoint":
        return [((i + 0.5) / points, 1 / points) for i in range(points)]
    ends, inner = (1 / points, 1 / points) if rule == "linspace" else (0.5, 1.0)
    share = 1.0 if rule == "linspace" else 1 / (points - 1)
    return [
        (i / (points - 1), share * (ends if i in (0, points - 1) else inner)) for i in range(points)
    ]


@dataclass
class AverageFeatures:
    """The kernel of the average features, and what each layer adds to the outputs.

    `moves` has Phi_l (theta - theta_0)_l, (n, k), by rule and layer; their sum over the layers is
    `change`, f_theta - f_theta_0, but for the error of the rule.
    """

    kernel: TangentKernel
    moves: dict[Rule, dict[str, Tensor]]
    change: Tensor

    def error(self, rule: Rule) -> float:
        """|Phi (theta - theta_0) - (f_theta - f_theta_0)| over |f_theta - f_theta_0|."""
        moved = torch.stack([*self.moves[rule].values()]).double().sum(0)
        change = self.change.double()
        return float((moved - change).norm() / change.norm())


def average_features(
    model: nn.Module,
    start: Mapping[str, Tensor],
    inputs: Tensor,
    *,
    points: int = 50,
    rule: Rule = "linspace",
    compared: Sequence[Rule] = RULES,
    outputs: Outputs = None,
    budget_bytes: int | None = None,
    check: Check = True,
) -> AverageFeatures:
    """Phi = integral of grad f_theta_t dt at `inputs`, from the weights `start` to the model's.

    Args:
        start: a tensor for every trainable parameter, by name. Everything else, running
            statistics too, is as in `model` at every point.
        rule: integrates the kernel; the identity is checked for all `compared`.
        budget_bytes: memory for summed features; where not all fit at once, it takes more passes.
        check: as in `tangent_kernel`, at the start.

    >>> net = nn.Linear(1, 1, bias=False)
    >>> average = average_features(net, {"weight": torch.zeros(1, 1)}, torch.tensor([[2.0]]))
    >>> average.kernel.gram.round(decimals=4)
    tensor([[4.]])
    """
    path = _Path(model, start, inputs, outputs, check)
    budget = budget_or_default(budget_bytes, inputs.device)
    weights = dict(quadrature(rule, points))
    first, *further = _groups(path, sorted(weights), budget)
    sums = {name: MeanFeature() for name in first}
    rules = {name: dict(quadrature(name, points)) for name in dict.fromkeys([rule, *compared])}
    moves: dict[Rule, dict[str, Tensor]] = {name: {} for name in rules}
    for t in sorted({t for times in rules.values() for t in times}):
        features = path.at(t)
        if t in weights:
            _add_factors(sums, features, weights[t])
        for layer, moved in path.moved(features).items():
            for name in (name for name in rules if t in rules[name]):
                moves[name][layer] = moves[name].get(layer, 0) + rules[name][t] * moved
    kernel = _Kernel(features)
    kernel.add(sums)
    for group in further:
        sums = {name: MeanFeature() for name in group}
        for t, weight in weights.items():
            _add_factors(sums, path.at(t), weight)
        kernel.add(sums)
    return AverageFeatures(kernel.finished(), moves, path.change())


class _Path:
    """A copy of the network that moves from one end of the segment to the other."""

    def __init__(
        self,
        model: nn.Module,
        start: Mapping[str, Tensor],
        inputs: Tensor,
        outputs: Outputs,
        check: Check,
    ) -> None:
        self.model, self.inputs, self.outputs = copy.deepcopy(model), inputs, outputs
        self.features = TangentFeatures(self.model, outputs=outputs, check=check)
        self.parameters = trainable(self.model)
        if wrong := sorted(self.parameters.keys() ^ start.keys()):
            raise UserError(f"start: {', '.join(wrong)} is not in both the start and the network")
        check_shapes("start", start, self.parameters)
        self.ends = {
            name: (start[name].detach().to(parameter), parameter.detach().clone())
            for name, parameter in self.parameters.items()
        }

    def _go_to(self, t: float) -> None:
        with torch.no_grad():
            for name, (start, end) in self.ends.items():
                # Not start + t (end - start): both ends come out to the last digit.
                self.parameters[name].copy_((1 - t) * start + t * end)

    def at(self, t: float) -> Features:
        self._go_to(t)
        return self.features.factors(self.inputs)

    def change(self) -> Tensor:
        """f_theta - f_theta_0, (n, k)."""
        values = []
        for t in (0.0, 1.0):
            self._go_to(t)
            values.append(NetworkFunction(self.model, self.outputs)(Batch.of(self.inputs)).detach())
        return values[1] - values[0]

    def moved(self, features: Features) -> dict[str, Tensor]:
        """(n, k) by layer: how the outputs move to first order along theta - theta_0."""
        dtype = next(iter(self.parameters.values())).dtype
        like = self.inputs.new_zeros(features.examples, features.outputs, dtype=dtype)
        return {
            layer: sum((self._along(name, factor) for name, factor in factors.items()), like)
            for layer, factors in features.layers.items()
        }

    def _along(self, name: str, factor: Factor) -> Tensor:
        start, end = self.ends[name]
        direction = end - start
        if isinstance(factor, Direct):
            return factor.values @ direction.flatten()
        if isinstance(factor, Tied):
            return torch.stack([self._along(name, use) for use in factor.uses]).sum(0)
        u, v = everything(factor.u), factor.v
        shape = (factor.u.groups, v.shape[3], factor.u.features)
        if factor.swapped:
            direction = direction.reshape(shape[0], shape[2], shape[1]).transpose(1, 2)
        moved = torch.einsum("gof,ngfd->ngod", direction.reshape(shape), u)
        return torch.einsum("ngod,nkgod->nk", moved, v)


class _Kernel:
    """K = sum over parameters of the products of their mean features."""

    def __init__(self, like: Features) -> None:
        self.like, self.grams = like, dict[str, Tensor]()
        self.workspace: Workspace | None = None

    def add(self, sums: Mapping[Name, MeanFeature]) -> None:
        for (layer, name), mean in sums.items():
            factor = mean.factor()
            rows = self.like.examples * self.like.outputs
            values = factor.values if isinstance(factor, Direct) else factor.v
            gram = self.grams.setdefault(layer, values.new_zeros(rows, rows))
            if self.workspace is None:
                self.workspace = Workspace(values.new_empty(0), default_budget(values.device) // 8)
            add_layer(gram, layer, {name: factor}, None, self.workspace)

    def finished(self) -> TangentKernel:
        # The lower half of every layer is complete, the upper half may not be.
        for gram in self.grams.values():
            mirror(gram)
        layers = {name: self.grams[name] for name in self.like.layers if name in self.grams}
        total = torch.stack([*layers.values()]).sum(0)
        return TangentKernel(total, layers, self.like.outputs, self.like.fallback)


def _add_factors(sums: Mapping[Name, MeanFeature], features: Features, weight: float) -> None:
    for (layer, name), mean in sums.items():
        # A parameter without a factor has no gradient at this point.
        if (factor := features.layers[layer].get(name)) is not None:
            mean.add(replace(factor, bias="") if isinstance(factor, Outer) else factor, weight)


def _groups(path: _Path, points: Sequence[float], budget: int) -> list[list[Name]]:
    """The parameters in groups, of which each has summed features that fit into the budget."""
    ends = [path.at(points[0]), path.at(points[-1])]
    room, groups = budget, [list[Name]()]
    for layer in ends[0].layers:
        for name in dict.fromkeys(name for end in ends for name in end.layers[layer]):
            factors = [end.layers[layer][name] for end in ends if name in end.layers[layer]]
            size = 0
            if len(factors) < 2 or shared(*factors) is None:  # else it is never written out
                values = factors[0].values if isinstance(factors[0], Direct) else factors[0].v
                n, k = values.shape[:2]
                size = COPIES * n * k * factors[0].parameters * values.itemsize
            if size > room and groups[-1]:
                groups.append([])
                room = budget
            groups[-1].append((layer, name))
            room -= size
    return groups
