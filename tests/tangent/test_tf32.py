"""Factors beside gradients that were rounded to 10 bits, as a GPU in training may round them."""

from __future__ import annotations

from types import SimpleNamespace

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


@pytest.mark.parametrize("rounded", ["matmul", "conv"])
def test_one_of_two_settings_is_enough_to_round(
    rounded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a GPU torch rounds convolutions by default, and matrix products only when asked."""
    monkeypatch.setattr(backwards, "on_gpu", lambda device: True)
    for place, name in ((torch.backends.cuda, "matmul"), (torch.backends.cudnn, "conv")):
        setting = SimpleNamespace(fp32_precision="tf32" if name == rounded else "ieee")
        monkeypatch.setattr(place, name, setting)
    assert backwards.in_tf32(torch.zeros(1))
    assert not backwards.in_tf32(torch.zeros(1, dtype=torch.float64))
