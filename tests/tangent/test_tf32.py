"""Factors made of numbers that were rounded to 10 bits, as a GPU in training may round them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from ntkexp.tangent import SharedForward, shared_forward
from ntkexp.tangent.passes import reference


class TenBits(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, x: Tensor) -> Tensor:
        return (x.view(torch.int32) & ~0x1FFF).view(torch.float32)

    @staticmethod
    def backward(ctx: object, grad: Tensor) -> Tensor:  # type: ignore[override]
        return grad


def test_the_sign_estimate_bears_tf32(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its tolerance is that of float32, every layer goes by torch.func: 80 GB for VGG19."""

    def jacobians(*given: object) -> None:
        raise AssertionError("a rule was not trusted")

    def conv2d(x: Tensor, weight: Tensor, *others: object) -> Tensor:
        """The rule reads the numbers before they are rounded."""
        found: Tensor = torch.conv2d(TenBits.apply(x), TenBits.apply(weight), *others)  # type: ignore[call-overload]
        return found

    monkeypatch.setattr(functional, "conv2d", conv2d)
    monkeypatch.setattr(shared_forward, "jacobians", jacobians)
    torch.manual_seed(0)
    layers = [layer for _ in range(4) for layer in (nn.Conv2d(6, 6, 3, padding=1), nn.ReLU())]
    model, x = nn.Sequential(*layers, nn.Flatten(), nn.Linear(6 * 36, 3)), torch.randn(8, 6, 6, 6)
    with pytest.raises(AssertionError, match="not trusted"):
        SharedForward(model).run(x, torch.Generator())
    for module in (shared_forward, reference):
        monkeypatch.setattr(module, "in_tf32", lambda like: True)
    assert SharedForward(model).run(x, torch.Generator()) > 0
