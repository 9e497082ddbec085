"""Phi v is a derivative of a derivative, which not every operation has."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from ntkexp.tangent import push_forward
from tests.tangent.dense_jacobian import jacobian


class Outside(torch.autograd.Function):
    """A derivative computed where autograd does not see it."""

    @staticmethod
    def forward(ctx, x: Tensor, w: Tensor) -> Tensor:  # type: ignore[no-untyped-def, override]
        ctx.save_for_backward(x, w)
        return torch.sin(x @ w)

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[no-untyped-def, override]
        x, w = (saved.detach().numpy() for saved in ctx.saved_tensors)
        inner = torch.from_numpy(np.cos(x @ w)) * grad.detach()
        return inner @ torch.from_numpy(w).t(), torch.from_numpy(x).t() @ inner


class WithOutside(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4))

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = Outside.apply(x, self.w)  # type: ignore[no-untyped-call]
        return found


class Distances(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.p, self.w = nn.Parameter(torch.randn(3, 4)), nn.Parameter(torch.randn(4, 4))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cdist(Outside.apply(x, self.w), self.p)  # type: ignore[no-untyped-call]


def test_push_forward_without_second_derivatives() -> None:
    """cdist has none, and of a derivative computed elsewhere there is none to be seen."""
    torch.manual_seed(0)
    model, inputs = Distances().double(), torch.randn(5, 4, dtype=torch.float64)
    rows = jacobian(model, inputs)
    for names in (["w"], ["p"], ["p", "w"]):
        direction = {name: torch.randn_like(model.get_parameter(name)) for name in names}
        expected = torch.stack([rows[name] @ v.flatten() for name, v in direction.items()]).sum(0)
        found = push_forward(model, inputs, direction)
        torch.testing.assert_close(found.flatten(), expected)
    seen = nn.Sequential(WithOutside(), nn.Linear(4, 2)).double()
    rows = jacobian(seen, inputs)
    direction = {"0.w": torch.randn(4, 4)}
    expected = rows["0.w"] @ direction["0.w"].double().flatten()
    torch.testing.assert_close(push_forward(seen, inputs, direction).flatten(), expected)
