"""The features of a batch, layer by layer, from one forward and one backward for each output."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd

from ntkexp.tangent.calls import (
    Call,
    outside_uses,
    parameterised,
    passed_through,
    recorded,
    refuse_overwritten,
)
from ntkexp.tangent.chain import chain_of, chain_uses
from ntkexp.tangent.factors import Factor, Outer, merged
from ntkexp.tangent.fallback import jacobians
from ntkexp.tangent.outputs import Outputs, chosen
from ntkexp.tangent.rehearsal import Rehearsal
from ntkexp.tangent.routes import Cost
from ntkexp.tangent.rules import RULES, Rule, UnfitError


@dataclass
class Features:
    """Factors of every trainable parameter, by layer, in the order of the forward.

    A layer is a module that owns parameters; its name is the first under which the model has it.
    """

    layers: dict[str, dict[str, Factor]]
    examples: int
    outputs: int
    fallback: list[str]
    cost: Cost

    def part(self, examples: slice) -> Features:
        parts = {
            layer: {name: factor.part(examples) for name, factor in factors.items()}
            for layer, factors in self.layers.items()
        }
        return Features(
            parts, len(range(self.examples)[examples]), self.outputs, self.fallback, self.cost
        )


def layer_of(parameter: str) -> str:
    """The module that owns a parameter; a parametrisation belongs to the module it serves.

    >>> layer_of("stage.0.weight"), layer_of("head.parametrizations.weight.original0")
    ('stage.0', 'head')
    """
    owner = parameter.rpartition(".")[0]
    return f".{owner}".partition(".parametrizations.")[0][1:]


def features(
    model: nn.Module,
    inputs: Tensor,
    outputs: Outputs,
    parameters: dict[str, nn.Parameter],
    rehearsal: Rehearsal,
) -> Features:
    """Record one forward, pull each output back to the layers, and check the pieces."""
    with recorded(parameterised(model)) as calls:
        values = chosen(model(_laid_out(inputs, rehearsal)), outputs, len(inputs))
    rehearsal.refuse_difference(values)
    refuse_overwritten(calls)
    order = list(dict.fromkeys(call.name for call in calls))
    chain = chain_of(values, parameters.values())
    if chain is None:
        uses, slow = receive(values, calls, parameters, _one_output(values))
    else:
        uses, slow = chain_uses(chain), set()
    offered: dict[str, Factor] = {}
    for name, parameter in parameters.items():
        if id(parameter) in uses and id(parameter) not in slow:
            offered[name] = merged(uses[id(parameter)])
        elif rehearsal.gradients[name].any():
            slow.add(id(parameter))  # else nothing uses it, and its features are zero
    found = _trusted(offered, rehearsal, values, parameters)
    slow.update(id(parameters[name]) for name in offered.keys() - found.keys())
    _share_bias(found, uses, parameters)
    cost = passes_cost(list(calls), values.shape[1])
    del values, calls, uses, chain
    names = [name for name, parameter in parameters.items() if id(parameter) in slow]
    found |= jacobians(model, inputs, outputs, names)
    layers = _by_layer(order, parameters, found)
    return Features(layers, len(inputs), rehearsal.outputs, names, cost)


def _trusted(
    offered: dict[str, Factor],
    rehearsal: Rehearsal,
    values: Tensor,
    parameters: dict[str, nn.Parameter],
) -> dict[str, Factor]:
    """Those that give the true gradient, if not of the rehearsal then of this very forward.

    The two round differently, for the size of the batch and the layout of images differ. One ReLU
    at the edge that falls the other way changes the gradients of all layers below it, in a layer
    of few units by percents.
    """
    doubted = [name for name, factor in offered.items() if not rehearsal.agrees(name, factor)]
    if not doubted:
        return offered
    same = rehearsal.within(values, {name: parameters[name] for name in doubted})
    wrong = {name for name in doubted if not same.agrees(name, offered[name])}
    return {name: factor for name, factor in offered.items() if name not in wrong}


def _laid_out(inputs: Tensor, rehearsal: Rehearsal) -> Tensor:
    """A copy, whatever the model does to it; images as they are quickest."""
    if rehearsal.layout is torch.channels_last:
        return inputs.clone(memory_format=torch.channels_last)
    return inputs.clone()


def receive(
    values: Tensor,
    calls: list[Call],
    parameters: dict[str, nn.Parameter],
    cotangents: Iterable[Tensor],
) -> tuple[dict[int, list[Factor]], set[int]]:
    """Factors of every parameter by its id, one for each use, and the ids that need a fallback.

    Each cotangent (n, k) asks for one backward, of activations only: no parameter is among the
    places where the gradient is wanted, so autograd computes none of theirs.
    """
    calls = [call for call in calls if type(call.module) in RULES]
    slow = outside_uses(values, calls, list(parameters.values()))
    wanted = {id(parameter) for parameter in parameters.values()} - slow
    cotangents = list(cotangents)
    rules: list[tuple[Call, Rule]] = []
    for call in calls:
        own = {key: id(p) for key, p in call.module._parameters.items() if id(p) in wanted}
        known = frozenset(own) & {"weight", "bias"}
        slow.update(key for name, key in own.items() if name not in known)
        if not known:
            continue
        try:
            rule = RULES[type(call.module)](call, known, len(values), len(cotangents))
        except UnfitError:
            slow.update(id(getattr(call.module, key)) for key in known)
        else:
            rules.append((call, rule))
    _pull_back(values, rules, cotangents)
    uses: dict[int, list[Factor]] = {}
    for call, rule in rules:
        for key, factor in rule.factors().items():
            uses.setdefault(id(getattr(call.module, key)), []).append(factor)
    return uses, slow


def _one_output(values: Tensor) -> Iterable[Tensor]:
    for output in range(values.shape[1]):
        cotangent = torch.zeros_like(values)
        cotangent[:, output] = 1
        yield cotangent


def _pull_back(values: Tensor, rules: list[tuple[Call, Rule]], cotangents: list[Tensor]) -> None:
    """A loop, not a batch of backwards: vmap's is 1.4 times slower on two cores (VGG19, n = 20).

    Autograd would hand over the gradients at all layers at the end, half a gigabyte for ResNet18
    on 100 images. So it is asked for those where a backward ends only, and the others are listened
    to on the way. For a single backward, as in a training step, that is not worth looking for.
    """
    calls = [call for call, _ in rules]
    passed = passed_through(values, calls) if len(cotangents) > 1 else [False] * len(calls)
    ends = [rule for rule, on_the_way in zip(rules, passed, strict=True) if not on_the_way]
    if not ends:
        return
    heard: set[int] = set()
    now = 0

    def listener(call: Call, rule: Rule) -> Callable[[tuple[Tensor, ...]], None]:
        def listen(grads: tuple[Tensor, ...]) -> None:
            if (grad := grads[call.edge.output_nr]) is not None:
                rule.receive(now, grad)
                heard.add(id(rule))

        return listen

    with ExitStack() as stack:
        for (call, rule), on_the_way in zip(rules, passed, strict=True):
            if on_the_way:
                handle = call.edge.node.register_prehook(listener(call, rule))
                stack.callback(handle.remove)
        edges = [call.edge for call, _ in ends]
        for now, cotangent in enumerate(cotangents):
            heard = set()
            grads = torch.autograd.grad(
                values, edges, cotangent, retain_graph=True, allow_unused=True
            )
            for (_, rule), grad in zip(ends, grads, strict=True):
                if grad is not None:
                    rule.receive(now, grad)
                    heard.add(id(rule))
            for call, rule in rules:
                if id(rule) not in heard:
                    rule.receive(now, values.new_zeros(call.shape))


def _share_bias(
    found: dict[str, Factor], uses: dict[int, list[Factor]], parameters: dict[str, nn.Parameter]
) -> None:
    """Mark weights whose bias was in the same single call: sum_d v_d is its gradient."""
    for name, factor in found.items():
        bias = layer_of(name) + ".bias"
        if not isinstance(factor, Outer) or factor.swapped or bias.lstrip(".") not in found:
            continue
        both = (parameters[name], parameters[bias.lstrip(".")])
        if name.endswith("weight") and all(len(uses[id(p)]) == 1 for p in both):
            found[name] = replace(factor, bias=bias.lstrip("."))


def _by_layer(
    order: list[str], parameters: dict[str, nn.Parameter], found: dict[str, Factor]
) -> dict[str, dict[str, Factor]]:
    layers: dict[str, dict[str, Factor]] = {}
    owners = {layer_of(name) for name in parameters}
    for layer in [*(name for name in order if name in owners), *map(layer_of, parameters)]:
        layers.setdefault(layer, {})
    for name, factor in found.items():
        layers[layer_of(name)][name] = factor
    return layers


def passes_cost(calls: list[Call], outputs: int) -> Cost:
    """Forward and `outputs` backwards to the inputs of every layer but those nothing precedes."""
    flops = 0.0
    for call in calls:
        module = call.module
        if isinstance(module, nn.Linear):
            one = 2.0 * call.shape.numel() * module.in_features
        elif isinstance(module, _ConvNd):
            numel = call.input.numel() if module.transposed else call.shape.numel()
            one = 2.0 * numel * module.weight[0].numel()
        else:
            one = 0.0
        flops += one * (1 + (outputs if call.input_node is not None else 0))
    return Cost(flops, 0.0)
