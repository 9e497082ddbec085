"""Loss and accuracy of a whole split."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ntkexp.data import Split
from ntkexp.errors import UserError
from ntkexp.objectives.evaluate import evaluate
from ntkexp.objectives.squared_error import SquaredErrorLoss

SPLIT = Split.clean(torch.randn(5, 3), torch.zeros(5))


@pytest.mark.parametrize(
    ("net", "said"),
    [
        (
            nn.Sequential(nn.Linear(3, 1), nn.Flatten(0)),
            r"\(4,\) for 4 examples; expected \(4, 1\)",
        ),
        (nn.RNN(3, 1), r"gives a tuple; expected a tensor \(4, 1\)"),
        (nn.Linear(3, 2), r"\(4, 2\) for 4 examples; expected \(4, 1\)"),
    ],
)
def test_outputs_of_another_shape_than_the_objective_asks_for(net: nn.Module, said: str) -> None:
    """Of a network without its last dimension squared errors would be summed over examples."""
    with pytest.raises(UserError, match=said):
        evaluate(net, SPLIT, SquaredErrorLoss(1), examples=None, batch_size=4)


def test_the_mean_does_not_depend_on_the_size_of_a_batch() -> None:
    net = nn.Linear(3, 1)
    once, often = (
        evaluate(net, SPLIT, SquaredErrorLoss(1), examples=None, batch_size=size)["all"]
        for size in (5, 2)
    )
    assert once[0] == pytest.approx(often[0], rel=1e-6)
