"""Backwards of activations: the gradients of several outputs at places inside the network."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge

from ntkexp.tangent.passes.calls import passed_through


class Place(Protocol):
    """Where a gradient is wanted: a recorded call, or an operation of the graph."""

    @property
    def edge(self) -> GradientEdge: ...

    @property
    def shape(self) -> torch.Size: ...


class Receiver(Protocol):
    def receive(self, output: int, grad: Tensor) -> None: ...


@runtime_checkable
class ReceiverOfAll(Protocol):
    """A receiver that can take the gradients of all outputs at once."""

    def receive_all(self, grads: Tensor) -> None: ...


def receive_gradients(
    values: Tensor,
    receivers: Sequence[tuple[Place, Receiver]],
    cotangents: list[Tensor],
    together: bool,
) -> None:
    """For each cotangent of `values`, give every receiver the gradient at its place.

    `together` asks for all at once: in a small network an operation costs more to start than to do.
    """
    if not receivers:  # torch 2.14 has no gradient of nothing
        return
    if together and len(cotangents) > 1:
        try:
            grads = _together(values, [place.edge for place, _ in receivers], cotangents)
        except RuntimeError:  # an operation that vmap cannot follow
            pass
        else:
            _give(grads, receivers, len(cotangents), values)
            return
    _one_by_one(values, receivers, cotangents)


def _together(
    values: Tensor, edges: list[GradientEdge], cotangents: list[Tensor]
) -> tuple[Tensor | None, ...]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "There is a performance drop")
        return torch.autograd.grad(
            values,
            edges,
            torch.stack(cotangents),
            retain_graph=True,
            allow_unused=True,
            is_grads_batched=True,
        )


def _give(
    grads: tuple[Tensor | None, ...],
    receivers: Sequence[tuple[Place, Receiver]],
    outputs: int,
    values: Tensor,
) -> None:
    for (place, receiver), grad in zip(receivers, grads, strict=True):
        if grad is None:
            grad = values.new_zeros(outputs, *place.shape)
        if isinstance(receiver, ReceiverOfAll):
            receiver.receive_all(grad)
            continue
        for output, one in enumerate(grad):
            receiver.receive(output, one)


def _one_by_one(
    values: Tensor, rules: Sequence[tuple[Place, Receiver]], cotangents: list[Tensor]
) -> None:
    """A loop of backwards.


    For VGG19 and n = 20 vmap's batch of backwards takes 1.4 times as long on two cores. Gradients
    asked of autograd.grad are all alive until the backward ends: half a gigabyte for ResNet18 on
    100 images. So only the calls at which a backward ends are asked for; the others are given to
    their rules by hooks as the backward passes them. A single backward, as in a training step,
    asks for all: finding out where it ends would cost more than it saves.
    """
    edges = [call.edge for call, _ in rules]
    passed = passed_through(values, edges) if len(cotangents) > 1 else [False] * len(edges)
    ends = [rule for rule, on_the_way in zip(rules, passed, strict=True) if not on_the_way]
    if not ends:
        return
    received: set[int] = set()
    now = 0

    def hook_for(call: Place, rule: Receiver) -> Callable[[tuple[Tensor, ...]], None]:
        def hook(grads: tuple[Tensor, ...]) -> None:
            if (grad := grads[call.edge.output_nr]) is not None:
                rule.receive(now, grad)
                received.add(id(rule))

        return hook

    with ExitStack() as stack:
        for (call, rule), on_the_way in zip(rules, passed, strict=True):
            if on_the_way:
                handle = call.edge.node.register_prehook(hook_for(call, rule))
                stack.callback(handle.remove)
        edges = [call.edge for call, _ in ends]
        for now, cotangent in enumerate(cotangents):
            received = set()
            grads = torch.autograd.grad(
                values, edges, cotangent, retain_graph=True, allow_unused=True
            )
            for (_, rule), grad in zip(ends, grads, strict=True):
                if grad is not None:
                    rule.receive(now, grad)
                    received.add(id(rule))
            for call, rule in rules:
                if id(rule) not in received:
                    rule.receive(now, values.new_zeros(call.shape))
