"""Attention, recurrence, tokens."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.tangent.grid.parts import (
    Net,
    linear,
    of,
    seq,
    sequences,
    table,
    tokens,
    vectors,
    weight,
)


class First(nn.Module):
    """The output of a module that returns several, averaged over time."""

    def __init__(self, inner: nn.Module, axis: int = 1, head: int = 4) -> None:
        super().__init__()
        self.inner, self.axis, self.head = inner, axis, nn.Linear(head, 2)

    def forward(self, x: Tensor) -> Tensor:
        out = self.inner(x if self.axis == 1 else x.transpose(0, 1))
        out = out[0] if isinstance(out, tuple) else out
        head: Tensor = self.head(torch.tanh(out).mean(self.axis))
        return head


class Attend(nn.Module):
    def __init__(self, cross: bool = False, **options: object) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(4, 2, batch_first=True, **options)  # type: ignore[arg-type]
        self.cross, self.head = cross, nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        other = torch.tanh(x[:, :2]) if self.cross else x
        head: Tensor = self.head(self.attend(x, other, other)[0].mean(1))
        return head


def encoder(**options: object) -> nn.Module:
    layer = nn.TransformerEncoderLayer(4, 2, 6, dropout=0.0, batch_first=True, **options)  # type: ignore[arg-type]
    return First(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False))


SEQUENCES: dict[str, Net] = {
    "attention": (Attend, sequences()),
    "attention, cross": (lambda: Attend(cross=True), sequences()),
    "attention, added biases": (lambda: Attend(add_bias_kv=True), sequences()),
    "attention, no bias": (lambda: Attend(bias=False), sequences()),
    "attention, as long as the batch": (Attend, sequences(n=3)),
    "encoder": (encoder, sequences()),
    "encoder, norm first": (lambda: encoder(norm_first=True, activation="gelu"), sequences()),
    "decoder": (
        of(
            lambda m, x: m.h(m.d(x, torch.tanh(x[:, :2])).mean(1)),
            d=lambda: nn.TransformerDecoderLayer(4, 2, 6, 0.0, batch_first=True),
            h=linear(4, 2),
        ),
        sequences(),
    ),
    "RNN": (lambda: First(nn.RNN(4, 4, batch_first=True)), sequences()),
    "GRU": (lambda: First(nn.GRU(4, 4, batch_first=True)), sequences()),
    "GRU, two layers": (lambda: First(nn.GRU(4, 3, 2, batch_first=True), head=3), sequences()),
    "GRU, time first": (lambda: First(nn.GRU(4, 4), axis=0), sequences()),
    "LSTM": (lambda: First(nn.LSTM(4, 4, batch_first=True)), sequences()),
    "LSTM, both ways": (
        lambda: First(nn.LSTM(4, 2, batch_first=True, bidirectional=True)),
        sequences(),
    ),
    "LSTM, projected": (lambda: First(nn.LSTM(4, 5, batch_first=True, proj_size=4)), sequences()),
    "LSTM, time first": (lambda: First(nn.LSTM(4, 4, 2), axis=0), sequences(n=3)),
    "LSTM cell": (
        of(
            lambda m, x: m.h(m.c(x[:, 1], m.c(x[:, 0]))[0]),
            c=lambda: nn.LSTMCell(4, 4),
            h=linear(4, 2),
        ),
        sequences(),
    ),
    "GRU cell": (
        of(
            lambda m, x: m.h(m.c(x[:, 1], m.c(x[:, 0]))), c=lambda: nn.GRUCell(4, 4), h=linear(4, 2)
        ),
        sequences(),
    ),
    # As many features as there are examples: its output is no batch, though it is as long as one.
    "a word that all examples share": (
        of(
            lambda m, x: m.head(torch.tanh(m.body(x) * m.word(torch.tensor(1)))),
            body=linear(4, 5),
            word=table(3, 5),
            head=linear(5, 2),
        ),
        vectors(),
    ),
    "embedding bag": (lambda: seq(nn.EmbeddingBag(6, 4), nn.Tanh(), nn.Linear(4, 2)), tokens()),
    "embedding, padded": (
        lambda: seq(nn.Embedding(6, 4, padding_idx=0), nn.Flatten(), nn.Linear(12, 2)),
        tokens(),
    ),
    "embedding by frequency": (
        lambda: seq(
            nn.Embedding(6, 4, scale_grad_by_freq=False), nn.Tanh(), nn.Flatten(), nn.Linear(12, 2)
        ),
        tokens(),
    ),
    "time folded": (
        of(
            lambda m, x: m.h(torch.tanh(m.a(x.reshape(-1, 4))).view(len(x), -1)),
            a=linear(4, 2),
            h=linear(6, 2),
        ),
        sequences(),
    ),
    "time first": (
        of(
            lambda m, x: m.h(torch.tanh(m.a(x.transpose(0, 1))).mean(0)),
            a=linear(4, 4),
            h=linear(4, 2),
        ),
        sequences(),
    ),
    "time first, and folded": (  # twice the same layer, of which one call no rule of a module fits
        of(
            lambda m, x: m.h(
                m.a(torch.tanh(m.a(x.transpose(0, 1))).reshape(-1, 4)).view(3, -1, 4).mean(0)
            ),
            a=linear(4, 4),
            h=linear(4, 2),
        ),
        sequences(),
    ),
    "time first, folded": (
        of(
            lambda m, x: m.h(
                torch.tanh(m.a(x.transpose(0, 1).reshape(-1, 4))).view(3, -1, 4).mean(0)
            ),
            a=linear(4, 4),
            h=linear(4, 2),
        ),
        sequences(),
    ),
    "weight of time": (
        of(
            lambda m, x: m.h((m.w.softmax(0)[:, None] * torch.tanh(x)).sum(1)),
            w=weight(3),
            h=linear(4, 2),
        ),
        sequences(),
    ),
}
