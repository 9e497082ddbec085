"""The bounds of a mutual information, on distributions over finitely many pairs and on samples."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from ntkexp.information.bounds import donsker_varadhan, info_nce, nwj
from ntkexp.information.mine import Objective, lowered, together_and_apart
from ntkexp.theory.information.gaussian import information, log_ratios

RANDOM = settings(derandomize=True, deadline=None, max_examples=30)
seeds = given(seed=st.integers(0, 10_000))


def discrete(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """P (3, 4), Q of its margins, and some T."""
    stream = torch.Generator().manual_seed(seed)
    P = torch.rand(3, 4, generator=stream, dtype=torch.float64)
    P /= P.sum()
    T = torch.randn(3, 4, generator=stream, dtype=torch.float64)
    return P, P.sum(1, keepdim=True) * P.sum(0), T


def kl(P: Tensor, Q: Tensor) -> Tensor:
    return (P * (P / Q).log()).sum()


def dv(P: Tensor, Q: Tensor, T: Tensor) -> Tensor:
    return (P * T).sum() - (Q * T.exp()).sum().log()


@RANDOM
@seeds
def test_what_the_bound_lacks_is_the_distance_from_the_gibbs_distribution(seed: int) -> None:
    P, Q, T = discrete(seed)
    G = Q * T.exp() / (Q * T.exp()).sum()
    assert (kl(P, Q) - dv(P, Q, T)).item() == pytest.approx(kl(P, G).item(), abs=1e-12)
    assert dv(P, Q, (P / Q).log()).item() == pytest.approx(kl(P, Q).item(), abs=1e-12)


@RANDOM
@seeds
def test_donsker_varadhan_is_never_below_nwj_on_any_sample(seed: int) -> None:
    stream = torch.Generator().manual_seed(seed)
    joint, apart = 3 * torch.randn(2, 7, generator=stream, dtype=torch.float64)
    assert donsker_varadhan(joint, apart) >= nwj(joint, apart) - 1e-12
    # They agree where the mean of e^T is e.
    shift = 1 - apart.logsumexp(0) + math.log(7)
    both = donsker_varadhan(joint, apart), nwj(joint + shift, apart + shift)
    assert both[0].item() == pytest.approx(both[1].item())


def test_a_constant_changes_nwj_alone() -> None:
    joint, apart = torch.tensor([1.0, 2.0]), torch.tensor([0.5, -1.0])
    assert torch.allclose(donsker_varadhan(joint + 4, apart + 4), donsker_varadhan(joint, apart))
    assert not torch.allclose(nwj(joint + 4, apart + 4), nwj(joint, apart))


def test_at_the_best_function_both_give_the_information() -> None:
    """A million pairs, rho = .9: .8304 nats."""
    x, noise = torch.randn(2, 1_000_000, 1, generator=torch.Generator().manual_seed(0)).double()
    z = 0.9 * x + math.sqrt(1 - 0.81) * noise
    best = lambda x, z: torch.from_numpy(log_ratios(x[:, None], z[:, None], 0.9))[:, 0, 0]  # noqa: E731
    joint, apart = best(x, z), best(x, z.roll(1, 0))
    assert donsker_varadhan(joint, apart).item() == pytest.approx(information(0.9), abs=0.005)
    assert nwj(joint + 1, apart + 1).item() == pytest.approx(information(0.9), abs=0.005)


def test_info_nce_never_exceeds_the_log_of_its_candidates() -> None:
    scores = 50 * torch.eye(8) + torch.rand(3, 8, 8, generator=torch.Generator().manual_seed(0))
    found = info_nce(scores)
    assert found.shape == (3,)
    assert (found <= math.log(8)).all()
    assert torch.allclose(found, torch.tensor(math.log(8)))


def gradient(objective: Objective, T: Tensor, log_mean: Tensor, average: float) -> Tensor:
    leaf = T.clone().requires_grad_()
    loss, _ = lowered(objective, leaf[0], leaf[1], log_mean, average)
    (found,) = torch.autograd.grad(loss, leaf)
    return found


def test_without_a_past_the_average_is_the_naive_gradient() -> None:
    T = torch.randn(2, 9, generator=torch.Generator().manual_seed(0))
    naive = gradient(Objective.naive, T, torch.zeros(()), 0.9)
    assert torch.allclose(gradient(Objective.mine, T, torch.tensor(5.0), 0.0), naive)


def test_the_average_takes_the_bias_from_the_gradient_of_small_batches() -> None:
    """T = w t on t ~ N(0, 1), in batches of 5: the gradient of log E e^(w t) by w is w."""
    w, batches = 1.0, 3000
    t = torch.randn(batches, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    joint = torch.zeros(5, dtype=torch.float64)
    found = {}
    for objective in (Objective.naive, Objective.mine):
        total, log_mean = 0.0, torch.tensor(w**2 / 2, dtype=torch.float64)
        for batch in t:
            leaf = torch.tensor(w, dtype=torch.float64, requires_grad=True)
            loss, log_mean = lowered(objective, joint, leaf * batch, log_mean, 0.999)
            loss.backward()
            assert leaf.grad is not None
            total += leaf.grad.item()
        found[objective] = total / batches
    assert found[Objective.naive] < 0.8 * w
    assert found[Objective.mine] == pytest.approx(w, abs=0.1)


def test_nothing_is_left_together_by_a_shift_where_a_permutation_leaves_one_pair() -> None:
    """Twenty coordinates, rho = .9, the best T: that one pair takes 5 nats and more."""
    n, rho = 10_000, 0.9
    x, noise = torch.randn(2, n, 20, generator=torch.Generator().manual_seed(0)).double()
    z = rho * x + math.sqrt(1 - rho**2) * noise
    pairs = together_and_apart(x, z)
    assert not (pairs[:n, 20:] == pairs[n:, 20:]).all(1).any()

    def best(x: Tensor, z: Tensor) -> Tensor:
        return torch.from_numpy(log_ratios(x[:, None], z[:, None], rho))[:, 0, 0]

    permuted = z.roll(1, 0)
    permuted[[0, 1]] = permuted[[1, 0]]  # the first z comes to its own place
    assert (permuted == z).all(1).sum() == 1
    by_shift, by_permutation = (
        donsker_varadhan(best(x, z), best(x, o)) for o in (z.roll(1, 0), permuted)
    )
    assert by_shift.item() > by_permutation.item() + 5
