"""A generator of two parts, the first of which alone the information reaches."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from ntkexp.information.clip import norm
from ntkexp.studies.two_gradients import Players

MAKERS = {
    "generator": lambda: nn.ModuleDict({"encoder": nn.Linear(3, 2), "decoder": nn.Linear(2, 3)}),
    "discriminator": lambda: nn.Linear(5, 1),
    "statistics": lambda: nn.Bilinear(3, 2, 1),
}


def players(beta: float, *, clip: bool = True) -> Players:
    device = torch.device("cpu")
    return Players(MAKERS, last=1, seed=0, device=device, beta=beta, lr=0.1, clip=clip)


@pytest.mark.parametrize("clip", [True, False])
def test_the_part_that_the_information_reaches_alone_is_clipped_and_clips(clip: bool) -> None:
    work, x = players(50.0, clip=clip), torch.randn(20, 3)
    generator = work.networks["generator"]
    assert isinstance(generator, nn.ModuleDict)

    def losses() -> tuple[Tensor, Tensor]:
        z = generator["encoder"](x)
        return ((generator["decoder"](z) - x) ** 2).mean(), z

    taken: list[Tensor] = []
    update = work.updates["generator"]
    update.take, update.apply = taken.extend, lambda lr: None  # type: ignore[assignment, method-assign]
    own, z = losses()
    work.follow(own, (x, z), generator["encoder"])

    encoder, decoder = ([*generator[part].parameters()] for part in ("encoder", "decoder"))
    first = torch.autograd.grad(losses()[0], [*encoder, *decoder])
    z = losses()[1]
    T = work.networks["statistics"]
    apart = T(x, z.roll(1, 0)).exp().mean()
    bound = T(x, z).mean() - apart / (0.99 + 0.01 * apart.detach())
    second = torch.autograd.grad(-50.0 * bound, encoder)
    assert norm(second) > norm(first[:2])
    factor = norm(first[:2]) / norm(second) if clip else 1.0
    for found, a, b in zip(taken[:2], first[:2], second, strict=True):
        assert torch.allclose(found, a + factor * b, atol=1e-5)
    assert all(map(torch.equal, taken[2:], first[2:]))
    assert work.memory["norms"].tolist() == pytest.approx(
        [norm(first[:2]).item(), norm(second).item()], rel=1e-4
    )


def test_without_information_nobody_measures_it() -> None:
    assert [*players(0.0).networks] == ["generator", "discriminator"]
