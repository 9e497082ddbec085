"""Parameters used by the operations of a forward, not by a module."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.tangent.grid.parts import (
    Net,
    Of,
    images,
    linear,
    of,
    sequences,
    table,
    tokens,
    vectors,
    weight,
)


def scaled(m: Of, x: Tensor) -> Tensor:
    return m.head(torch.tanh(m.a(x)) * m.scale + m.shift)  # type: ignore[operator, no-any-return]


def attention(m: Of, x: Tensor) -> Tensor:
    """Of one's own making: three maps, a softmax, a product."""
    q, k, v = m.q(x), m.k(x), m.v(x)  # type: ignore[operator]
    return m.head((torch.softmax(q @ k.mT / 2, -1) @ v).mean(1))  # type: ignore[operator, no-any-return]


def placed(length: int) -> Callable[[], nn.Module]:
    """Words and places, one place for each word."""
    return of(
        lambda m, x: m.head(torch.tanh(m.e(x) + m.p(torch.arange(length))).mean(1)),
        e=table(6, 4),
        p=table(length, 4),
        head=linear(4, 2),
    )


BROADCAST: dict[str, Net] = {
    "scale and shift": (
        of(scaled, a=linear(4, 4), head=linear(4, 2), scale=weight(4), shift=weight(4)),
        vectors(),
    ),
    "one scale": (
        of(lambda m, x: m.a(x) * m.s, a=linear(4, 2), s=lambda: torch.tensor(1.5)),
        vectors(),
    ),
    "scale squared": (
        of(lambda m, x: m.a(x) * m.s**2 + m.s, a=linear(4, 2), s=weight(2)),
        vectors(),
    ),
    "divided": (of(lambda m, x: m.a(x) / (1 + m.s.exp()), a=linear(4, 2), s=weight(2)), vectors()),
    "class token": (
        of(
            lambda m, x: m.head(
                torch.tanh(m.a(torch.cat([m.cls.expand(len(x), -1, -1), x], 1))).mean(1)
            ),
            cls=weight(1, 1, 4),
            a=linear(4, 4),
            head=linear(4, 2),
        ),
        sequences(),
    ),
    "repeated token": (
        of(
            lambda m, x: m.head(torch.cat([m.cls.repeat(len(x), 1), torch.tanh(x)], 1) ** 2),
            cls=weight(1, 2),
            head=linear(6, 2),
        ),
        vectors(),
    ),
    "position embedding": (
        of(
            lambda m, x: m.head(torch.tanh(x + m.place).mean(1)),
            place=weight(1, 3, 4),
            head=linear(4, 2),
        ),
        sequences(),
    ),
    "position table": (placed(3), tokens(length=3)),
    "as long as the batch": (placed(4), tokens(n=4, length=4)),
    "layer scale": (
        of(
            lambda m, x: (x + m.g.view(-1, 1, 1) * m.c(x)).mean((2, 3)),
            g=weight(4),
            c=lambda: nn.Conv2d(4, 4, 3, padding=1),
        ),
        images(),
    ),
    "functional linear": (
        of(
            lambda m, x: functional.linear(torch.tanh(functional.linear(x, m.w, m.b)), m.v),
            w=weight(4, 4),
            b=weight(4),
            v=weight(2, 4),
        ),
        vectors(),
    ),
    "matrix products": (
        of(
            lambda m, x: torch.tanh(x @ m.w) @ m.v + m.b,
            w=weight(4, 4),
            v=weight(4, 2),
            b=weight(2),
        ),
        vectors(),
    ),
    "functional convolution": (
        of(
            lambda m, x: functional.conv2d(x, m.w, m.b, padding=1).tanh().mean((2, 3)),
            w=weight(3, 4, 3, 3),
            b=weight(3),
        ),
        images(),
    ),
    "functional convolution in groups": (
        of(
            lambda m, x: functional.conv2d(x, m.w, groups=2).tanh().mean((2, 3)),
            w=weight(4, 2, 2, 2),
        ),
        images(),
    ),
    "scaled sums": (
        of(
            lambda m, x: m.h(torch.tanh(torch.add(m.p, torch.sub(m.q, x, alpha=0.5), alpha=0.3))),
            p=weight(4),
            q=weight(4),
            h=linear(4, 2),
        ),
        vectors(),
    ),
    "a scaled product": (
        of(
            lambda m, x: torch.addmm(m.b, torch.tanh(m.a(x)), m.w, alpha=2),
            a=linear(4, 4),
            w=weight(4, 3),
            b=weight(3),
        ),
        vectors(),
    ),
    "one bias for all outputs": (
        of(lambda m, x: torch.addmm(m.bias, x, m.w), w=weight(4, 3), bias=weight(1)),
        vectors(),
    ),
    "another's bias": (
        of(
            lambda m, x: functional.linear(torch.tanh(m.a(x)), m.w, m.a.bias),
            a=linear(4, 4),
            w=weight(4, 4),
        ),
        vectors(),
    ),
    "differences": (
        of(lambda m, x: m.h(torch.tanh(x - m.p)), p=weight(4), h=linear(4, 2)),
        vectors(),
    ),
    "films": (
        of(
            lambda m, x: m.h(
                torch.tanh(m.n(m.c(x.flatten(0, 1)))).view(len(x), -1)  # frames as more images
            ),
            c=lambda: nn.Conv2d(2, 4, 2, groups=2),
            n=lambda: nn.GroupNorm(1, 4),
            h=linear(64, 2),
        ),
        lambda: torch.randn(3, 4, 2, 3, 3),
    ),
    "functional norm": (
        of(
            lambda m, x: m.h(functional.layer_norm(x, (4,), m.g, m.b)),
            g=weight(4),
            b=weight(4),
            h=linear(4, 2),
        ),
        vectors(),
    ),
    "all weights less others at once": (
        of(
            lambda m, x: functional.linear(
                torch.tanh(x), *torch._foreach_sub([m.w, m.b], [torch.ones(2, 4), torch.ones(2)])
            ),
            w=weight(2, 4),
            b=weight(2),
        ),
        vectors(),
    ),
    "einsum": (
        of(lambda m, x: torch.einsum("nti,tio->no", x, m.w), w=weight(3, 4, 2)),
        sequences(),
    ),
    "own attention": (
        of(attention, q=linear(4, 4), k=linear(4, 4), v=linear(4, 4), head=linear(4, 2)),
        sequences(),
    ),
}
