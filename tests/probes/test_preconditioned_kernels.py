"""Kernels divided by Fisher matrices are those of dense ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from ntkexp.data.dataset import Dataset, Split
from ntkexp.errors import UserError
from ntkexp.objectives.binary import BinaryLoss
from ntkexp.probes.preconditioned_kernels import (
    DAMPINGS,
    KINDS,
    PreconditionedKernels,
    alignment,
    divided,
)
from ntkexp.probes.view import NetworkView

N, HELD_OUT = 12, 6


def net(outputs: int = 1) -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, outputs)).double()


def seen(network: nn.Module) -> NetworkView:
    torch.manual_seed(1)
    inputs, targets = torch.randn(2, 20, 4, dtype=torch.float64), torch.arange(20) % 2
    splits = [Split.clean(part, targets.double()) for part in inputs]
    dataset = Dataset("made", *splits, 2, (4,), {})
    return NetworkView(network, dataset, BinaryLoss(1), step=0, seed=0, last=True)


def jacobian(network: nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    rows = []
    for x in inputs:
        grads = torch.autograd.grad(network(x[None]).sum(), [*network.parameters()])
        rows.append(torch.cat([grad.flatten() for grad in grads]))
    return torch.stack(rows)


def test_the_exact_matrix_needs_the_kernel_alone() -> None:
    view, network = seen(net()), net()
    x, z = view.examples("train").inputs[:N], view.examples("test").inputs[:HELD_OUT]
    J, damping = jacobian(network, torch.cat([x, z])), 0.3
    F = J[:N].T @ J[:N] / N
    expected = J @ torch.linalg.solve(F + damping * torch.eye(len(F), dtype=F.dtype), J.T)
    K = (J @ J.T).numpy()
    np.testing.assert_allclose(divided(K, N, damping), expected.numpy(), rtol=1e-9)
    values = np.linalg.eigvalsh(K[:N, :N]) / N
    found = np.linalg.eigvalsh(divided(K, N, damping)[:N, :N])
    np.testing.assert_allclose(found, N * values / (values + damping), rtol=1e-9)


def test_each_cell_has_the_alignment_of_its_kernel() -> None:
    network = net()
    view = seen(network)
    found = pd.DataFrame(
        PreconditionedKernels(examples=N, held_out=HELD_OUT).measure(view)["preconditioned_kernels"]
    ).set_index(["kind", "damping", "split"])["alignment"]
    assert len(found) == (1 + len(KINDS)) * len(DAMPINGS) * 2
    x, z = view.examples("train").inputs[:N], view.examples("test").inputs[:HELD_OUT]
    J = jacobian(network, torch.cat([x, z]))
    F = J[:N].T @ J[:N] / N
    damping = DAMPINGS[1] * float(torch.linalg.eigvalsh(F)[-1])
    diagonal = (J[N:] / (F.diagonal() + damping)) @ J[N:].T
    labels = view.examples("test").targets[:HELD_OUT]
    assert found["diagonal", DAMPINGS[1], "test"] == pytest.approx(
        alignment(diagonal.numpy(), labels), rel=1e-6
    )


def test_a_network_of_several_outputs_is_refused() -> None:
    with pytest.raises(UserError, match="has 3 outputs; expected one, as with data=cifar2"):
        PreconditionedKernels(examples=N, held_out=HELD_OUT).measure(seen(net(3)))
