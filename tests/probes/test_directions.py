"""Variations along directions, against the dense Jacobian."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from ntkexp.data import Dataset, Split
from ntkexp.objectives.cross_entropy import CrossEntropyLoss
from ntkexp.probes import Batch, NetworkView
from ntkexp.probes.directions import Directions

N, INPUTS, CLASSES = 5, 4, 3


def view_of(model: nn.Module) -> NetworkView:
    """A view in which the test examples are those of the training batch."""
    inputs = torch.randn(N, INPUTS, generator=torch.Generator().manual_seed(1)).double()
    labels, no = torch.arange(N) % CLASSES, torch.zeros(N, dtype=torch.bool)
    split = Split(inputs, labels, labels, no, no)
    return NetworkView(
        model,
        Dataset("made", split, split, CLASSES, (INPUTS,), {}),
        CrossEntropyLoss(CLASSES),
        step=9,
        seed=0,
        last=True,
        batches={"train": Batch(inputs, labels)},
    )


def found(model: nn.Module) -> pd.DataFrame:
    rows = Directions(count=4, examples=N, size=1e-6).measure(view_of(model))
    return pd.DataFrame(rows["directions"])


@pytest.fixture
def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(INPUTS, 6), nn.ReLU(), nn.Linear(6, CLASSES)).double()


def test_along_singular_vectors_of_the_same_examples_it_is_the_singular_value(
    net: nn.Module,
) -> None:
    along = found(net).query("kind == 'singular' and method == 'jvp'")
    np.testing.assert_allclose(along["variation"], along["singular_value"] / N**0.5, rtol=1e-9)
    rows = []
    for score in net(view_of(net).batches["train"].inputs).flatten():
        grads = torch.autograd.grad(score, list(net.parameters()), retain_graph=True)
        rows.append(torch.cat([grad.flatten() for grad in grads]))
    expected = torch.linalg.svdvals(torch.stack(rows))[:4]
    np.testing.assert_allclose(along["singular_value"], expected, rtol=1e-9)


def test_a_step_taken_agrees_with_the_derivative(net: nn.Module) -> None:
    table = found(net).pivot(index=["kind", "index"], columns="method", values="variation")
    np.testing.assert_allclose(table["perturbation"], table["jvp"], rtol=1e-4)


def test_random_directions_vary_less_than_the_leading_one(net: nn.Module) -> None:
    table = found(net).query("method == 'jvp'")
    random = table[table["kind"] == "random"]
    assert random["singular_value"].isna().all()
    assert random["variation"].max() < table["variation"].iloc[0]


def test_it_looks_at_the_end_only(net: nn.Module) -> None:
    now = view_of(net)
    now.last = False
    assert Directions().measure(now) == {}
