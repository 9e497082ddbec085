"""Errors of KFAC and EKFAC are those of dense matrices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ntkexp.curvature.kron import Kronecker, Layout
from ntkexp.objectives.cross_entropy import CrossEntropyLoss
from ntkexp.probes.fisher_drift import correlations, errors_of, norms_of, outers_of
from ntkexp.probes.view import Batch
from tests.tiny_runs import TINY, goes_on, table

LOSS = CrossEntropyLoss(3)
N = 30


def net(seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 5), nn.Sigmoid(), nn.Linear(5, 3)).double()


def batch() -> Batch:
    torch.manual_seed(1)
    return Batch(torch.randn(N, 4).double(), torch.arange(N) % 3)


def gradients(model: nn.Sequential, layer: int) -> Tensor:
    """(n, O, K): of the loss of each example by weight and bias, by autograd."""
    given, rows = batch(), []
    weights = [*model[layer].parameters()]
    for x, y in zip(given.inputs, given.targets, strict=True):
        loss = LOSS.losses(model(x[None]), y[None]).sum()
        of_weight, of_bias = torch.autograd.grad(loss, weights)
        rows.append(torch.cat([of_weight, of_bias[:, None]], 1))
    return torch.stack(rows)


@pytest.mark.parametrize("layer", [0, 2])
def test_errors_are_those_of_dense_matrices_also_of_an_earlier_basis(layer: int) -> None:
    then, now = net(0), net(1)
    earlier = outers_of(then, batch(), LOSS)[str(layer)]
    kron = Kronecker(Layout.of(earlier))
    kron.add(earlier)
    basis = kron.basis()
    rows = gradients(now, layer).flatten(1)
    fisher = rows.T @ rows / N
    norm = norms_of(now, batch(), LOSS)[str(layer)]
    assert norm == pytest.approx(float(torch.linalg.matrix_norm(fisher)))
    outer = outers_of(now, batch(), LOSS)[str(layer)]
    found = errors_of(outer, basis.a, basis.b, basis.products(), norm=norm)
    kfac = torch.kron(kron.b.mean()[0], kron.a.mean()[0])
    scalar = (kfac * fisher).sum() / kfac.square().sum()
    rotation = torch.kron(basis.b[0].contiguous(), basis.a[0].contiguous())
    ekfac = rotation @ torch.diag((rows @ rotation).square().mean(0)) @ rotation.T
    for error, matrix in zip(found, (kfac, scalar * kfac, ekfac), strict=True):
        expected = torch.linalg.matrix_norm(fisher - matrix) / norm
        assert error == pytest.approx(float(expected), rel=1e-9)


def test_correlations_are_those_of_gradients_and_of_their_coordinates() -> None:
    model = net(0)
    outer = outers_of(model, batch(), LOSS)["0"]
    kron = Kronecker(Layout.of(outer))
    kron.add(outer)
    basis = kron.basis()
    found = correlations(outer, basis.a, basis.b, most=7)
    rows = gradients(model, 0)
    chosen = np.arange(7) * 25 // 7
    for name, matrices in {
        "parameters": rows,
        "basis": basis.b[0].T @ rows @ basis.a[0],
    }.items():
        expected = np.abs(np.corrcoef(matrices.flatten(1)[:, chosen].numpy(), rowvar=False))
        wanted = expected[found["first"], found["second"]]
        assert np.abs(np.array(found[name]) - wanted).max() < 0.0051


@pytest.mark.usefixtures("made_images")
def test_a_run_that_was_killed_keeps_its_basis(tmp_path: Path) -> None:
    words = ("data=mnist", "model=mlp", "model.depth=2", "model.width=5", "optim.steps=8", *TINY)
    words = (*words, "probe=[fisher_drift]", "probe.fisher_drift.period=4", "probing.examples=10")
    words = (*words, "probing.spacing=linear", "probing.every=2")
    whole = goes_on(tmp_path, *words, stop_at=6)
    drift = table(whole, "fisher_drift").query("layer == 'hidden1'")
    steps = [*zip(drift["step"], drift["since"], strict=True)]
    assert steps == [(0, 0), (2, 2), (4, 4), (4, 0), (6, 2), (8, 4), (8, 0)]
    fresh = drift[drift["since"] == 0]
    assert (fresh["ekfac"] <= fresh["kfac_scaled"] + 1e-6).all()
    assert (fresh["kfac_scaled"] <= fresh["kfac"] + 1e-6).all()
