"""Nets drawn at random: layers one after the other, in branches, shared, and used by other ways.

`random_net(seed)` is always the same net, in float64 and evaluation mode, and its inputs. Every
net treats each example by itself, though not always where one would look for it: some reorder the
batch, cut it, or put two copies into one.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tests.tangent.fuzz.layers import Shape, activation, layers_for
from tests.tangent.grid.parts import Of

MOST_NUMBERS, MOST_TRIES = 500, 40
NORMS = (nn.modules.batchnorm._BatchNorm, nn.modules.instancenorm._InstanceNorm)


def random_net(seed: int) -> tuple[nn.Module, Tensor]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        builder = _Builder(Random(seed))
        model = builder.net().double().eval()
    return model, builder.inputs


class _Builder:
    def __init__(self, draw: Random) -> None:
        self.draw = draw
        self.examples = draw.randint(2, 6)
        kind = draw.choice(("images", "images", "images", "sequence", "vector", "tokens"))
        self.images = kind == "images"
        sizes = [draw.randint(2, 6) for _ in range(4)]
        if kind == "images":
            axes = draw.choice((1, 2, 2, 3))
            shape = (sizes[0], *[min(s, 4 if axes == 3 else 6) for s in sizes[1 : axes + 1]])
        else:
            shape = tuple(sizes[: 1 if kind == "vector" else 2])
        self.stages: list[nn.Module] = []
        if kind == "tokens":
            self.inputs = torch.randint(0, 5, (self.examples, sizes[0]))
            self.stages.append(nn.Embedding(5, sizes[1], padding_idx=draw.choice((None, 0))))
        else:
            self.inputs = torch.randn(self.examples, *shape, dtype=torch.float64)
        self.shape: Shape = shape

    def net(self) -> nn.Module:
        for _ in range(self.draw.randint(1, 5)):
            self._append(self._stage)
            if self.draw.random() < 0.15 and len(self.shape) > 1:
                self._append(self._change_of_kind)
        self._append(self._head)
        net = nn.Sequential(*self.stages)
        trained = [*net.parameters()]
        if self.draw.random() < 0.3:
            for parameter in trained[1:]:
                parameter.requires_grad_(self.draw.random() < 0.6)
        return net

    def _append(self, make: Callable[[], nn.Module]) -> None:
        """A stage that fits: whatever raises an error, or grows too large, is drawn again."""
        images = self.images
        for _ in range(MOST_TRIES):
            self.images = images
            try:
                stage = make().double().eval()
                shape = self._shape_after(stage)
            except (RuntimeError, ValueError, AssertionError, IndexError):
                continue
            if 0 < torch.Size(shape).numel() <= MOST_NUMBERS:
                self.stages.append(stage)
                self.shape = shape
                return
        self.images = images

    @torch.no_grad()
    def _shape_after(self, stage: nn.Module) -> Shape:
        for n in (1, 3):
            found = stage(torch.randn(n, *self.shape, dtype=torch.float64))
            if len(found) != n or not found.isfinite().all():
                raise ValueError
        return tuple(found.shape[1:])

    def _layer(self, shape: Shape | None = None) -> nn.Module:
        shape = shape or self.shape
        return self.draw.choice(layers_for(shape, self.images))(self.draw, shape)

    def _stage(self) -> nn.Module:
        if self.draw.random() < 0.4:
            return self._layer()
        if self.draw.random() < 0.3:
            return self._moved()
        return self._composed()

    def _keeping(self) -> nn.Module:
        """A layer whose output has the shape of its input."""
        for _ in range(MOST_TRIES):
            try:
                layer = self._layer().double().eval()
                if self._shape_after(layer) == self.shape and [*layer.parameters()]:
                    return layer
            except (RuntimeError, ValueError, AssertionError, IndexError):
                continue
        return Of(lambda m, x: x + m.w, w=torch.randn(self.shape))

    def _composed(self) -> nn.Module:
        """One or two layers in another than one after the other."""
        f, act = self._keeping(), activation(self.draw, self.shape)
        kind = self.draw.randrange(9)
        if kind == 0:
            return Of(lambda m, x: x + 0.5 * m.f(x), f=f)
        if kind == 1:  # the same layer twice
            return Of(lambda m, x: m.f(m.act(m.f(x))), f=f, act=act)
        if kind == 2:
            return Of(lambda m, x: m.f(x) - m.f(torch.tanh(x)), f=f)
        if kind == 3:
            return Of(lambda m, x: checkpoint(m.f, x, use_reentrant=False) * 2, f=f)
        g = self._keeping()
        if kind == 4:
            axis = self.draw.randint(1, len(self.shape))
            return Of(lambda m, x: torch.cat([m.f(x), m.g(x)], axis), f=f, g=g)
        if kind == 5:
            return Of(lambda m, x: m.f(x) * torch.sigmoid(m.g(x)), f=f, g=g)
        if kind == 6:  # by the data, number by number
            return Of(lambda m, x: torch.where(x > 0, m.f(x), m.g(x)), f=f, g=g)
        if kind == 7:
            axis = self.draw.randint(1, len(self.shape))
            return Of(lambda m, x: m.f(x.sort(axis).values) + m.f(x.flip(axis)), f=f)
        other = self._keeping()
        own = dict(other.named_parameters())  # weights of the same shape are one
        for name, parameter in [*g.named_parameters()]:
            same = own.get(name)
            if same is not None and same.shape == parameter.shape:
                owner, _, key = name.rpartition(".")
                module = g.get_submodule(owner)
                if key in module._parameters:
                    setattr(module, key, same)
        return Of(lambda m, x: m.g(torch.tanh(m.f(m.h(x)))), f=f, g=g, h=other)

    def _moved(self) -> nn.Module:
        """Examples in another order, in parts, one by one, or twice."""
        f = self._layer()
        kind = self.draw.randrange(7)
        if kind == 0:
            return Of(lambda m, x: m.f(x.flip(0)).flip(0), f=f)
        if kind == 1:
            return Of(lambda m, x: torch.cat([m.f(part) for part in x.chunk(2)]), f=f)
        if kind == 2:  # of a batch of one torch's own norms are not to be trusted
            copies = 2 if any(isinstance(part, NORMS) for part in f.modules()) else 1
            return Of(
                lambda m, x: torch.cat([m.f(torch.stack([one] * copies))[:1] for one in x]),
                f=f,
            )
        if kind == 3:  # two versions of each example in one batch, one after the other
            return Of(lambda m, x: _difference(m.f(torch.cat([x, torch.tanh(x)]))), f=f)
        if kind == 4:  # ... and side by side
            return Of(
                lambda m, x: (
                    m.f(torch.stack([x, torch.tanh(x)], 1).flatten(0, 1))
                    .unflatten(0, (len(x), 2))
                    .select(1, 0)
                ),
                f=f,
            )
        if kind == 5:

            def by_size(m: Of, x: Tensor) -> Tensor:
                order = x.flatten(1)[:, 0].argsort()
                return m.f(x[order])[order.argsort()]

            return Of(by_size, f=f)

        def by_sign(m: Of, x: Tensor) -> Tensor:
            """Only some of the examples reach the layer."""
            chosen = x.flatten(1)[:, 0] > 0
            rows = chosen.nonzero()[:, 0]
            return x.index_copy(0, rows, m.f(x[chosen])) if len(rows) else x + 0 * m.f(x)

        return Of(by_sign, f=self._keeping())

    def _change_of_kind(self) -> nn.Module:
        if self.images:
            self.images = False
            if self.draw.random() < 0.5:
                return Of(lambda m, x: x.flatten(2).transpose(1, 2))
            return Of(lambda m, x: x.flatten(2).mean(2))
        if self.draw.random() < 0.5:
            self.images = True
            return Of(lambda m, x: x.transpose(1, 2))
        at = self.draw.choice((0, -1))
        return Of(lambda m, x: x[:, at])

    def _head(self) -> nn.Module:
        size = torch.Size(self.shape).numel()
        if self.draw.random() < 0.15 and size <= 5:
            return nn.Flatten()
        head = nn.Linear(size, self.draw.randint(1, 4), bias=self.draw.random() < 0.7)
        return nn.Sequential(nn.Flatten(), head)


def _difference(both: Tensor) -> Tensor:
    one, other = both.chunk(2)
    return one - 2 * other
