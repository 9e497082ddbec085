"""Nets that send examples, or parts of them, by different ways; attention with masks; tables."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.tangent.grid.parts import (
    Net,
    Of,
    linear,
    of,
    sequences,
    table,
    tokens,
    vectors,
    weight,
)


def tokens_to_experts(m: Of, x: Tensor) -> Tensor:
    """Each of two layers gets some of the tokens: four of six of each pair of examples."""
    flat = x.reshape(-1, 4)
    first = flat[:, 0] > 0
    out = flat.new_empty(len(flat), 4)
    out = out.index_put((first.nonzero()[:, 0],), m.a(flat[first]))  # type: ignore[operator]
    out = out.index_put(((~first).nonzero()[:, 0],), m.b(flat[~first]))  # type: ignore[operator]
    return m.head(torch.tanh(out).view(len(x), 3, 4).mean(1))  # type: ignore[operator, no-any-return]


def routed_tokens() -> Tensor:
    """As many tokens go to the first layer as there are examples, twice; of two examples each two,
    so that the rows of these two are where equal shares would have them."""
    x = torch.randn(4, 3, 4)
    signs = torch.tensor([[1, 1, -1], [1, 1, -1], [1, -1, -1], [1, 1, 1]])
    x[..., 0] = signs * x[..., 0].abs()
    return x


def in_order_of_size(m: Of, x: Tensor) -> Tensor:
    """Examples are sorted, and put back at the end."""
    order = x[:, 0].argsort()
    return m.head(torch.tanh(m.a(x[order])))[order.argsort()]  # type: ignore[operator, no-any-return]


def first_two_in_order() -> Tensor:
    x = torch.randn(6, 4)
    x[:, 0] = torch.tensor([-3.0, -2.0, 1.5, 0.3, 2.0, 0.7])
    return x


def packed(m: Of, x: Tensor) -> Tensor:
    lengths = (1 + (x[:, 0, 0] > 0).long() + (x[:, 0, 1] > 0).long()).cpu()
    given = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    out, _ = pad_packed_sequence(m.rnn(given)[0], batch_first=True, total_length=3)  # type: ignore[operator]
    return m.head(out.sum(1))  # type: ignore[operator, no-any-return]


def one_by_one(m: Of, x: Tensor) -> Tensor:
    """Every layer sees a single example without an axis of examples."""
    return torch.stack([m.head(m.norm(torch.tanh(m.a(one)))) for one in x])  # type: ignore[operator]


ROUTED: dict[str, Net] = {
    "tokens sent to experts": (
        of(tokens_to_experts, a=linear(4, 4), b=linear(4, 4), head=linear(4, 2)),
        routed_tokens,
    ),
    "examples sorted": (
        of(in_order_of_size, a=linear(4, 5), head=linear(5, 3)),
        first_two_in_order,
    ),
    "packed LSTM": (
        of(packed, rnn=lambda: nn.LSTM(4, 3, 2, batch_first=True), head=linear(3, 2)),
        sequences(),
    ),
    "experts by weight": (
        of(
            lambda m, x: torch.einsum(
                "ne,eno->no",
                m.gate(x).softmax(-1),
                torch.tanh(torch.baddbmm(m.b, x.expand(3, -1, -1), m.w)),
            ),
            gate=linear(4, 3),
            w=weight(3, 4, 2),
            b=weight(3, 1, 2),
        ),
        vectors(),
    ),
    "two of four experts": (
        of(
            lambda m, x: (
                torch.stack([torch.tanh(e(x)) for e in m.es], 1)
                .gather(1, m.gate(x).topk(2).indices[..., None].expand(-1, -1, 3))
                .sum(1)
                * m.gate(x).logsumexp(1, keepdim=True)
            ),
            gate=linear(4, 4),
            es=lambda: nn.ModuleList([nn.Linear(4, 3) for _ in range(4)]),
        ),
        vectors(),
    ),
    "single examples": (
        of(one_by_one, a=linear(4, 4), norm=lambda: nn.LayerNorm(4), head=linear(4, 2)),
        vectors(n=4),
    ),
    "weights looked up by the data": (
        of(
            lambda m, x: torch.einsum("ni,nio->no", x, m.w[(x[:, 0] > 0).long()]),
            w=weight(2, 4, 3),
        ),
        vectors(),
    ),
    "causal mask": (
        of(
            lambda m, x: m.head(
                m.attend(
                    x,
                    x,
                    x,
                    attn_mask=torch.triu(torch.ones(3, 3, dtype=torch.bool), 1),
                    need_weights=False,
                )[0][:, -1]
            ),
            attend=lambda: nn.MultiheadAttention(4, 2, dropout=0.0, batch_first=True),
            head=linear(4, 2),
        ),
        sequences(),
    ),
    "padding by the data": (
        of(
            lambda m, x: m.head(
                m.attend(x, x, x, key_padding_mask=(x[..., 0] > 0.5) & (torch.arange(3) > 0))[
                    0
                ].mean(1)
            ),
            attend=lambda: nn.MultiheadAttention(4, 2, batch_first=True),
            head=linear(4, 2),
        ),
        sequences(),
    ),
    "bags": (
        of(
            lambda m, x: m.head(torch.tanh(torch.cat([m.a(x), m.b(x)], 1))),
            a=lambda: nn.EmbeddingBag(6, 3, mode="max"),
            b=lambda: nn.EmbeddingBag(6, 3, mode="sum"),
            head=linear(6, 2),
        ),
        tokens(),
    ),
    "one table, four ways": (
        of(
            lambda m, x: m.head(
                torch.tanh(
                    m.e(x)
                    + functional.embedding(x, m.e.weight)
                    + m.e.weight[x]
                    + functional.one_hot(x, 6).to(m.e.weight) @ m.e.weight
                ).mean(1)
            ),
            e=table(6, 4),
            head=linear(4, 2),
        ),
        tokens(),
    ),
}
