"""Adam in a box: plain Adam as long as nothing reaches the wall, and the wall afterwards."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ntkexp.optim.adam import Adam
from ntkexp.optim.clipped_adam import ClippedAdam
from ntkexp.optim.update import WeightUpdate


def weights() -> list[Tensor]:
    draws = torch.Generator().manual_seed(0)
    return [torch.randn(4, 3, generator=draws), torch.randn(4, generator=draws)]


def steps(update: WeightUpdate, count: int) -> None:
    draws = torch.Generator().manual_seed(1)
    for _ in range(count):
        update.take([torch.randn(w.shape, generator=draws) for w in update.parameters])
        update.apply(0.1)


def test_far_from_the_wall_it_is_adam() -> None:
    plain, clipped = weights(), weights()
    for parts, optimiser in ((plain, Adam()), (clipped, ClippedAdam(clip=100.0))):
        for part in parts:
            part.requires_grad_()
        steps(optimiser.build(parts), 20)
    assert all(torch.equal(one, other) for one, other in zip(plain, clipped, strict=True))


@pytest.mark.parametrize("clip", [0.1, 0.5])
def test_no_parameter_leaves_the_box(clip: float) -> None:
    parts = [part.requires_grad_() for part in weights()]
    steps(ClippedAdam(clip=clip).build(parts), 5)
    assert max(float(part.detach().abs().max()) for part in parts) == pytest.approx(clip)


def test_the_coming_change_is_the_one_that_is_made() -> None:
    parts = [part.requires_grad_() for part in weights()]
    update = ClippedAdam(clip=0.6).build(parts)
    update.take([torch.ones_like(part) for part in parts])
    before, coming = [part.detach().clone() for part in parts], update.change(0.1)
    update.apply(0.1)
    for part, start, change in zip(parts, before, coming, strict=True):
        assert torch.allclose(part.detach(), start + change, atol=1e-6)
