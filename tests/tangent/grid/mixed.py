"""Nets that iterate, differentiate inside, or change weights, outputs or gradients on their way."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrizations, prune

from tests.tangent.grid.parts import (
    Net,
    Of,
    images,
    linear,
    of,
    seq,
    vectors,
    weight,
)


def fixed_point(m: Of, x: Tensor) -> Tensor:
    """Found without gradients, then one step with them."""
    with torch.no_grad():
        z = x.new_zeros(len(x), 4)
        for _ in range(9):
            z = torch.tanh(m.a(z) / 3 + m.u(x))  # type: ignore[operator]
    return m.head(torch.tanh(m.a(z) / 3 + m.u(x)))  # type: ignore[operator, no-any-return]


def of_energy(m: Of, x: Tensor) -> Tensor:
    """The gradient of a scalar by the input."""
    x = x.detach().requires_grad_()
    energy = m.b(functional.softplus(m.a(x))).sum()  # type: ignore[operator]
    return torch.autograd.grad(energy, x, create_graph=True)[0]


def halved_gradient(m: Of, x: Tensor) -> Tensor:
    hidden = torch.relu(m.a(x))  # type: ignore[operator]
    if hidden.requires_grad:
        hidden.register_hook(lambda grad: 0.5 * grad)
    return m.b(hidden)  # type: ignore[operator, no-any-return]


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor, w: Tensor) -> Tensor:  # type: ignore[no-untyped-def, override]
        ctx.save_for_backward(x, w)
        return (x @ w) ** 2

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[no-untyped-def, override]
        x, w = ctx.saved_tensors
        inner = 2 * (x @ w) * grad
        return inner @ w.t(), x.t() @ inner


def hooked() -> nn.Module:
    """Hooks that put other outputs and other gradients in the place of a layer's."""
    net = seq(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 2))
    net[0].register_forward_hook(lambda module, args, out: torch.sin(out))  # type: ignore[index]
    net[1].register_forward_hook(  # type: ignore[index]
        lambda module, args, out: out + functional.linear(args[0] ** 2, module.weight)
    )
    net[2].register_full_backward_hook(lambda module, grads, out: (2 * grads[0],))  # type: ignore[index]
    return net


def pruned() -> nn.Module:
    net = seq(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    prune.l1_unstructured(net[0], "weight", 0.3)  # type: ignore[index, no-untyped-call]
    return net


MIXED: dict[str, Net] = {
    "fixed point": (
        of(fixed_point, a=linear(4, 4), u=linear(4, 4), head=linear(4, 2)),
        vectors(),
    ),
    "gradient of an energy": (of(of_energy, a=linear(4, 6), b=linear(6, 1)), vectors()),
    "distances": (
        of(lambda m, x: torch.cdist(torch.tanh(m.a(x)), m.p), a=linear(4, 3), p=weight(4, 3)),
        vectors(),
    ),
    "gradients halved on their way": (
        of(halved_gradient, a=linear(4, 5), b=linear(5, 2)),
        vectors(),
    ),
    "own derivative": (
        of(
            lambda m, x: m.head(torch.tanh(Squared.apply(x, m.w))),
            w=weight(4, 4),
            head=linear(4, 2),
        ),
        vectors(),
    ),
    "hooks that replace": (hooked, vectors()),
    "pruned": (pruned, vectors()),
    "weight of two geometries": (
        of(
            lambda m, x: (
                m.c(x).tanh().mean((2, 3))
                + functional.conv2d(x, m.c.weight, stride=2, dilation=2).tanh().mean((2, 3))
                + functional.conv_transpose2d(x, m.c.weight, stride=2).tanh().mean((2, 3))
            ),
            c=lambda: nn.Conv2d(4, 4, 3, padding=1),
        ),
        images(),
    ),
    "weight norm, transposed": (
        lambda: seq(
            parametrizations.weight_norm(nn.ConvTranspose2d(4, 3, 2, stride=2)),
            nn.Tanh(),
            nn.Flatten(),
            nn.Linear(108, 2),
        ),
        images(n=3, size=3),
    ),
    "weights made by a net": (
        of(
            lambda m, x: m.head(torch.tanh(x @ m.maker(m.z).view(4, 4))),
            z=weight(3),
            maker=linear(3, 16),
            head=linear(4, 2),
        ),
        vectors(),
    ),
    "vmap inside": (
        of(
            lambda m, x: torch.vmap(lambda one: torch.tanh(m.a(one)) @ m.w)(x),
            a=linear(4, 5),
            w=weight(5, 2),
        ),
        vectors(),
    ),
    "complex in between": (
        of(
            lambda m, x: m.head((x.to(torch.complex128) @ torch.complex(m.re, m.im)).abs()),
            re=weight(4, 4),
            im=weight(4, 4),
            head=linear(4, 2),
        ),
        vectors(),
    ),
}
