"""Vectors of parameters, and a matrix before an optimiser's step."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import cross_entropy

from ntkexp.curvature import Preconditioner, Vector, fisher
from ntkexp.errors import UserError
from tests.curvature.truth import network

close = torch.testing.assert_close


def test_vectors_are_added_and_stretched_part_by_part() -> None:
    net, _, _ = network("mlp")
    v, w = Vector.of(net), Vector.random(net, torch.Generator().manual_seed(0))
    close((v + 3 * w - w * 2 - (-w)).flat(), v.flat() + 2 * w.flat())
    assert w.norm() == pytest.approx(1)
    assert v.dot(w) == pytest.approx(float(v.flat() @ w.flat()))
    with torch.no_grad():
        net[0].weight += 1
    assert not torch.equal(Vector.of(net).flat(), v.flat()), "it is a copy"


def test_gradients_become_those_that_the_matrix_solves_for() -> None:
    net, x, y = network("convolutions")
    precondition = Preconditioner(net, "kfac", damping=0.1, period=2)

    def gradient() -> torch.Tensor:
        net.zero_grad()
        cross_entropy(net(x), y).backward()
        return Vector.gradients(net).flat()

    first = fisher(net, [(x, y)], of="empirical")
    damped = first.to_dense() + 0.1 * torch.eye(len(gradient()), dtype=torch.float64)
    for step in range(3):
        truth = torch.linalg.solve(damped, gradient())
        precondition.step(x, y)
        same = torch.allclose(Vector.gradients(net).flat(), truth)
        assert same == (step < 2), "a matrix serves for two steps"
        with torch.no_grad():
            net[0].weight *= 1.5


def test_layers_that_the_matrix_leaves_out_keep_their_gradients() -> None:
    net, x, y = network("convolutions")
    cross_entropy(net(x), y).backward()
    before = {name: p.grad.clone() for name, p in net.named_parameters() if p.grad is not None}
    Preconditioner(net, {"0": "kfac"}, damping=0.1).step(x, y)
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None
        assert torch.equal(parameter.grad, before[name]) == (not name.startswith("0.")), name


def test_a_period_of_no_steps_is_refused() -> None:
    with pytest.raises(UserError, match="period=0: expected a whole number of steps, 1 or more"):
        Preconditioner(network("mlp")[0], damping=0.1, period=0)


def test_gradients_before_a_backward_are_refused() -> None:
    net, x, y = network("mlp")
    precondition = Preconditioner(net, damping=0.1)
    for ask in (lambda: Vector.gradients(net), lambda: precondition.step(x, y)):
        with pytest.raises(UserError, match=r"no gradients; expected loss.backward\(\) before"):
            ask()
    assert precondition.steps == 0


def test_a_vector_is_divided_by_a_number() -> None:
    v = Vector.of(network("mlp")[0])
    close((v / 2).flat(), v.flat() / 2)
