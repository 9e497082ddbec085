"""The own optimisers: torch's numbers, in two halves."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from ntkexp.optim.adam import AdamUpdate
from ntkexp.optim.sgd import SgdUpdate
from ntkexp.optim.update import WeightUpdate

LR = 0.1
Theirs = Callable[[list[nn.Parameter]], torch.optim.Optimizer]
ADAM = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}

CASES: dict[str, tuple[type[WeightUpdate], dict[str, float], Theirs]] = {
    f"sgd {momentum} {decay}": (
        SgdUpdate,
        {"momentum": momentum, "weight_decay": decay},
        lambda w, m=momentum, d=decay: torch.optim.SGD(w, LR, momentum=m, weight_decay=d),
    )
    for momentum, decay in ((0.0, 0.0), (0.9, 0.0), (0.9, 5e-4))
} | {
    f"adam {beta1} {decay}": (
        AdamUpdate,
        {**ADAM, "beta1": beta1, "weight_decay": decay},
        lambda w, b=beta1, d=decay: torch.optim.Adam(
            w, LR, betas=(b, 0.999), weight_decay=d, fused=True
        ),
    )
    for beta1, decay in ((0.9, 0.0), (0.5, 0.0), (0.9, 5e-4))
}


def net() -> list[nn.Parameter]:
    torch.manual_seed(0)
    return list(nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 2)).parameters())


def give_gradients(weights: list[nn.Parameter], step: int) -> None:
    for place, w in enumerate(weights):
        w.grad = drawn(w, 100 * step + place)


def drawn(like: Tensor, seed: int) -> Tensor:
    return torch.randn(like.shape, generator=torch.Generator().manual_seed(seed)).to(like.detach())


@pytest.mark.parametrize("case", CASES)
def test_it_is_torchs_bit_for_bit(case: str) -> None:
    kind, options, theirs = CASES[case]
    ours, other = net(), net()
    update, optimiser = kind(ours, **options), theirs(other)
    for step in range(20):
        give_gradients(ours, step)
        give_gradients(other, step)
        update.compute()
        update.apply(LR)
        optimiser.step()
    for mine, w in zip(ours, other, strict=True):
        assert torch.equal(mine, w)


@pytest.mark.parametrize("decay", [0.0, 5e-4])
def test_adam_is_torchs_usual_one_but_for_rounding(decay: float) -> None:
    ours, other = ([nn.Parameter(w.detach().double()) for w in net()] for _ in range(2))
    update = AdamUpdate(ours, **ADAM, weight_decay=decay)
    optimiser = torch.optim.Adam(other, LR, weight_decay=decay, fused=False)
    for step in range(20):
        for weights in (ours, other):
            give_gradients(weights, step)
        update.compute()
        update.apply(LR)
        optimiser.step()
    for mine, w in zip(ours, other, strict=True):
        torch.testing.assert_close(mine, w, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("case", CASES)
def test_gradients_may_lie_otherwise_in_memory(case: str) -> None:
    kind, options, _ = CASES[case]
    (plain, *_), (turned, *_) = net(), net()
    for weight, turns in ((plain, False), (turned, True)):
        update = kind([weight], **options)
        for step in range(3):
            gradient = drawn(weight, step)
            update.take([gradient.T.contiguous().T if turns else gradient])
            update.apply(LR)
    assert torch.equal(plain, turned)


@pytest.mark.parametrize("kind", [AdamUpdate, SgdUpdate])
@pytest.mark.parametrize("each_its_own", [True, False])
def test_members_of_a_stack_are_updated_as_alone(
    kind: type[WeightUpdate], each_its_own: bool
) -> None:
    options = ADAM if kind is AdamUpdate else {"momentum": 0.9}
    rates, decays = ([0.1, 0.2, 0.05], [0.0, 0.1, 0.5]) if each_its_own else ([LR] * 3, [0.1] * 3)
    alone = [net() for _ in decays]
    updates = [kind(w, **options, weight_decay=d) for w, d in zip(alone, decays, strict=True)]
    stacked = [torch.stack(parts).detach().requires_grad_() for parts in zip(*alone, strict=True)]
    members = [
        kind([part[m] for part in stacked], **options, weight_decay=d) for m, d in enumerate(decays)
    ]
    together = kind.of_members(members, stacked)
    for step in range(3):
        drawn_of = [[drawn(w, 10 * step + m) for w in alone[m]] for m in range(3)]
        together.take([torch.stack(parts) for parts in zip(*drawn_of, strict=True)])
        for m, update in enumerate(updates):
            update.take(drawn_of[m])
            members[m].updates = together.updates
            for mine, other in zip(
                members[m].change(rates[m]), update.change(rates[m]), strict=True
            ):
                torch.testing.assert_close(mine, other)
            update.apply(rates[m])
        together.apply(torch.tensor(rates) if each_its_own else LR)
    for m, weights in enumerate(alone):
        for place, w in enumerate(weights):
            torch.testing.assert_close(stacked[place][m].detach(), w.detach())


@pytest.mark.parametrize("case", CASES)
def test_between_the_halves_the_change_is_known(case: str) -> None:
    kind, options, _ = CASES[case]
    weights = [nn.Parameter(w.double()) for w in net()]
    update = kind(weights, **options)
    for step in range(3):
        give_gradients(weights, step)
        update.compute()
        before = [w.detach().clone() for w in weights]
        change, norm = update.change(LR), update.step_norm(LR)
        for w, as_it_was in zip(weights, before, strict=True):
            assert torch.equal(w, as_it_was) and w.grad is None
        update.apply(LR)
        for w, as_it_was, moved in zip(weights, before, change, strict=True):
            torch.testing.assert_close(w - as_it_was, moved, rtol=1e-9, atol=1e-12)
        together = torch.cat([moved.flatten() for moved in change]).norm()
        torch.testing.assert_close(norm, together, rtol=1e-9, atol=0.0)


@pytest.mark.parametrize("case", CASES)
def test_it_goes_on_from_its_state_bit_for_bit(case: str) -> None:
    kind, options, _ = CASES[case]
    whole, cut = net(), net()
    update, other = kind(whole, **options), kind(cut, **options)
    for step in range(6):
        if step == 3:
            kept, other = other.state(), kind(cut, **options)
            other.restore(kept)
        for weights, one in ((whole, update), (cut, other)):
            give_gradients(weights, step)
            one.compute()
            one.apply(LR)
    for mine, w in zip(cut, whole, strict=True):
        assert torch.equal(mine, w)


def test_a_weight_outside_the_loss_stays() -> None:
    weights = net()
    kept = weights[1].detach().clone()
    update = SgdUpdate(weights, momentum=0.9, weight_decay=0.0)
    give_gradients(weights, 0)
    weights[1].grad = None
    update.compute()
    update.apply(LR)
    assert torch.equal(weights[1], kept)


def test_weights_of_one_sum_are_decayed_once_each() -> None:
    pairs = [[nn.Parameter(torch.ones(3)), nn.Parameter(2 * torch.ones(3))] for _ in range(2)]
    (ours, theirs), drawn_once = pairs, drawn(pairs[0][0], 0)
    update = SgdUpdate(ours, momentum=0.0, weight_decay=0.5)
    # autograd.grad would give both weights the same tensor.
    update.descend((sum(ours, torch.zeros(3)) * drawn_once).sum())
    update.apply(LR)
    (sum(theirs, torch.zeros(3)) * drawn_once).sum().backward()
    torch.optim.SGD(theirs, LR, weight_decay=0.5).step()
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other)
