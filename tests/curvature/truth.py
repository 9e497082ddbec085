"""Networks, and their matrices by loops of autograd in float64."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

CLASSES = 3


class Words(nn.Module):
    """Words, a layer that is used twice at each of them, a norm and a weight stored transposed."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.shared = nn.Embedding(5, 3), nn.Linear(3, 3)
        self.norm = nn.LayerNorm(3)
        self.weight, self.bias = nn.Parameter(torch.randn(3, CLASSES)), nn.Parameter(torch.randn(3))

    def forward(self, words: Tensor) -> Tensor:
        x = self.shared(self.shared(self.table(words)).tanh())
        x = self.norm(x).mean(1)
        return torch.addmm(self.bias, x, self.weight)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, CLASSES, bias=False))


def convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1),
        nn.GroupNorm(2, 4),
        nn.ReLU(),
        nn.Conv2d(4, 4, 2, stride=2, groups=2),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(16, CLASSES),
    )


def images(n: int) -> Tensor:
    return torch.randn(n, 2, 4, 4, dtype=torch.float64)


NETS: dict[str, tuple[Callable[[], nn.Module], Callable[[int], Tensor]]] = {
    "mlp": (mlp, lambda n: torch.randn(n, 4, dtype=torch.float64)),
    "convolutions": (convolutions, images),
    "words": (Words, lambda n: torch.randint(0, 5, (n, 4))),
}


def network(name: str, n: int = 6) -> tuple[nn.Module, Tensor, Tensor]:
    """A network, inputs and labels."""
    torch.manual_seed(0)
    make, inputs = NETS[name]
    return make().double(), inputs(n), torch.randint(0, CLASSES, (n,))


def gradients(net: nn.Module, values: Tensor) -> Tensor:
    """The gradient of each number, (m, P)."""
    rows = []
    for value in values.flatten():
        grads = torch.autograd.grad(
            value, [*net.parameters()], retain_graph=True, materialize_grads=True, allow_unused=True
        )
        rows.append(torch.cat([grad.flatten() for grad in grads]))
    return torch.stack(rows)


def jacobian(net: nn.Module, x: Tensor) -> Tensor:
    return gradients(net, net(x))


def matrix(net: nn.Module, x: Tensor, y: Tensor, of: str) -> Tensor:
    """(P, P), from its definition."""
    n = len(x)
    if of == "l2":
        rows = jacobian(net, x)
        return rows.t() @ rows / n
    logits = net(x)
    if of == "exact":
        log_shares = logits.log_softmax(1)
        rows = gradients(net, log_shares) * log_shares.detach().exp().sqrt().flatten()[:, None]
        return rows.t() @ rows / n
    rows = gradients(net, functional.cross_entropy(logits, y, reduction="none"))
    mean = rows.mean(0)
    second = rows.t() @ rows / n
    return second - torch.outer(mean, mean) if of == "covariance" else second


def places(net: nn.Module, *names: str) -> Tensor:
    """Where some parameters stand in a row of all."""
    start, found = 0, []
    for name, parameter in net.named_parameters():
        if name in names:
            found.append(torch.arange(start, start + parameter.numel()))
        start += parameter.numel()
    return torch.cat(found)
