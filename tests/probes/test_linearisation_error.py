"""The error of a linearisation, against Jacobians row by row."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
import torch
from torch import nn

from ntkexp import data
from ntkexp.data.sines import Sines
from ntkexp.objectives.squared_error import SquaredErrorLoss
from ntkexp.probes.linearisation_error import LinearisationError
from ntkexp.probes.view import NetworkView


def test_the_error_is_that_of_the_first_order_at_each_look() -> None:
    dataset = data.load(Sines(train_examples=20), 0, torch.device("cpu"), progress=False)
    network = nn.Sequential(nn.Linear(1, 6), nn.Tanh(), nn.Linear(6, 1))
    x, probe = dataset.test.inputs, LinearisationError()
    weights = torch.cat([w.detach().flatten() for w in network.parameters()])
    seen: list[tuple[int, torch.Tensor, torch.Tensor, torch.Tensor]] = []
    for step, last in ((0, False), (4, False), (9, True)):
        torch.manual_seed(step)
        weights = weights + 0.3 * torch.randn(weights.shape)
        nn.utils.vector_to_parameters(weights, network.parameters())
        facts: Any = {"step": step, "seed": 0, "last": last}
        found = probe.measure(NetworkView(network, dataset, SquaredErrorLoss(1), **facts))
        J = torch.stack([
            torch.cat([g.flatten() for g in torch.autograd.grad(y, [*network.parameters()])])
            for y in (network(one)[0] for one in x)
        ])  # fmt: skip
        seen.append((step, weights, network(x)[:, 0].detach(), J))
    table = pd.DataFrame(found["linearisation_error"]).set_index("start")
    *starts, (_, end, f, _) = seen
    assert [*table.index] == [0, 4]
    for step, then, value, J in starts:
        off = value + J @ (end - then) - f
        truth = (off.square().mean() / f.square().mean()).item()
        assert table.loc[step, "error"] == pytest.approx(truth, rel=1e-4)
        assert table.loc[step, "agreement"] == ((off + f) * f > 0).double().mean().item()
    assert table.loc[4, "error"] < table.loc[0, "error"]
