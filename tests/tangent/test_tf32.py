"""Factors beside gradients that were rounded to 10 bits, as a GPU in training may round them."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from ntkexp.tangent import SharedForward, backwards, trace


def ten_bits(gradient: Tensor) -> Tensor:
    return (gradient.contiguous().view(torch.int32) & ~0x1FFF).view(torch.float32)


def test_the_sign_estimate_bears_tf32(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its tolerance is that of float32, every layer goes by torch.func: 80 GB for VGG19."""

    def jacobians(*given: object) -> None:
        raise AssertionError("a rule was not trusted")

    monkeypatch.setattr(trace, "jacobians", jacobians)
    torch.manual_seed(0)
    layers = [layer for _ in range(4) for layer in (nn.Conv2d(6, 6, 3, padding=1), nn.ReLU())]
    model, x = nn.Sequential(*layers, nn.Flatten(), nn.Linear(6 * 36, 3)), torch.randn(8, 6, 6, 6)
    for parameter in model.parameters():
        parameter.register_hook(ten_bits)
    with pytest.raises(AssertionError, match="not trusted"):
        SharedForward(model).run(x, torch.Generator())
    monkeypatch.setattr(backwards, "in_tf32", lambda like: True)
    assert SharedForward(model).run(x, torch.Generator()) > 0
