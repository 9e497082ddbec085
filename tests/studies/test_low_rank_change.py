"""Changes of weights of low rank: their rank, their training, and the kernels that are compared."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ntkexp import data, models
from ntkexp.data.fitted_digits import FittedDigits
from ntkexp.models.bias_free_mlp import BiasFreeMlp
from ntkexp.studies.low_rank_change import FULL, Change, LowRankChange, adapted, error, trained

pytestmark = pytest.mark.usefixtures("made_images")

SMALL = LowRankChange(
    seeds=1, ranks=[2], train_examples=20, width=8, batch_size=20, epochs=400, points=5
)


def test_the_change_starts_at_nothing_and_stays_of_its_rank() -> None:
    network = models.build(BiasFreeMlp(width=8), (1, 28, 28), 1, 0)
    change = Change(network, 2, torch.Generator().manual_seed(0))
    for name, weight in change.weights().items():
        torch.testing.assert_close(weight, dict(network.named_parameters())[name])
    split = data.load(
        FittedDigits(train_examples=20, width=8), 0, torch.device("cpu"), progress=False
    ).train
    for rank in (2, FULL):
        found = trained(replace(SMALL, epochs=30), network, split, rank, 0)
        moved = found.weights["hidden1.weight"] - dict(network.named_parameters())["hidden1.weight"]
        s = np.linalg.svd(moved.detach().numpy(), compute_uv=False)
        assert (s > 1e-5 * s[0]).sum() == (2 if rank else 8)


def test_without_a_limit_it_is_momentum_descent_on_the_weights() -> None:
    network = models.build(BiasFreeMlp(width=8), (1, 28, 28), 1, 0)
    split = data.load(
        FittedDigits(train_examples=20, width=8), 0, torch.device("cpu"), progress=False
    ).train
    found = trained(replace(SMALL, epochs=7, error=1e-30), network, split, FULL, 0)
    assert found.epochs == 7
    optimiser = torch.optim.SGD(network.parameters(), lr=SMALL.lr, momentum=0.9)
    for _ in range(7):
        optimiser.zero_grad()
        ((network(split.inputs)[:, 0] - split.targets).square().mean() / 2).backward()
        optimiser.step()
    for name, weight in network.named_parameters():
        torch.testing.assert_close(found.weights[name], weight.detach(), rtol=1e-4, atol=1e-5)


def test_all_ranks_end_at_one_training_error_and_the_unlimited_one_is_like_itself() -> None:
    found = SMALL.run()["low_rank"].set_index("rank")
    assert (found["train_error"] < SMALL.error).all()
    assert found.loc[FULL, "cosine_full"] == pytest.approx(1.0)
    assert found.loc[2, "cosine_full"] < 1
    assert found["wrong"].between(0, 1).all()


def test_the_adapted_kernel_of_weights_that_stay_is_the_initial_one() -> None:
    torch.manual_seed(0)
    network = models.build(BiasFreeMlp(width=8), (1, 28, 28), 1, 0)
    inputs = torch.randn(4, 1, 28, 28)
    weights = {name: p.detach().clone() for name, p in network.named_parameters()}
    kernel = adapted(SMALL, network, weights, inputs)
    rows = [torch.autograd.grad(network(x[None])[0, 0], [*network.parameters()]) for x in inputs]
    J = torch.stack([torch.cat([part.flatten() for part in row]) for row in rows]).numpy()
    # An entry may be far smaller than the numbers it is a sum of.
    np.testing.assert_allclose(kernel, J @ J.T, rtol=1e-4, atol=1e-6 * kernel.max())
    assert error(network, weights, data.Split.clean(inputs, network(inputs)[:, 0].detach())) == 0
