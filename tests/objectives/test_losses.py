"""Losses against their formulas, slopes against autograd."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from ntkexp import components
from ntkexp.errors import UserError
from ntkexp.objectives.base import Loss
from ntkexp.objectives.binary import BinaryLoss
from ntkexp.objectives.cross_entropy import CrossEntropyLoss
from ntkexp.objectives.reconstruction import BernoulliLoss
from ntkexp.objectives.squared_error import SquaredErrorLoss

N = 7
STREAM = torch.Generator().manual_seed(0)
CLASSES = torch.arange(N) % 3
CASES: dict[str, tuple[Loss, Tensor]] = {
    "cross_entropy": (CrossEntropyLoss(3), CLASSES),
    "binary": (BinaryLoss(), CLASSES % 2),
    "squared error of classes": (SquaredErrorLoss(3), CLASSES),
    "squared error of signs": (SquaredErrorLoss(1), CLASSES % 2),
    "squared error of numbers": (SquaredErrorLoss(1), torch.randn(N, generator=STREAM)),
    "squared error of vectors": (SquaredErrorLoss(4), torch.randn(N, 4, generator=STREAM)),
    "cross-entropy of shades": (BernoulliLoss(4), torch.rand(N, 4, generator=STREAM)),
}


def outputs(objective: Loss) -> Tensor:
    stream = torch.Generator().manual_seed(1)
    return torch.randn(N, objective.outputs, generator=stream, dtype=torch.float64)


def by_hand(name: str, f: list[float], y: Tensor) -> float:
    if name == "cross_entropy":
        return math.log(sum(map(math.exp, f))) - f[int(y)]
    if name == "binary":
        return math.log(1 + math.exp(-f[0] if y else f[0]))
    if name == "cross-entropy of shades":
        pixels = zip(f, y.tolist(), strict=True)
        return sum(math.log(1 + math.exp(a)) - shade * a for a, shade in pixels) / 4
    if name.endswith("classes"):
        wanted = [float(k == int(y)) for k in range(3)]
    elif name.endswith("signs"):
        wanted = [1.0 if y else -1.0]
    else:
        wanted = y.flatten().tolist()
    return sum((a - b) ** 2 for a, b in zip(f, wanted, strict=True)) / 2


@pytest.mark.parametrize("name", CASES)
def test_the_losses_are_those_of_the_formula(name: str) -> None:
    objective, targets = CASES[name]
    f = outputs(objective)
    expected = [by_hand(name, row.tolist(), y) for row, y in zip(f, targets, strict=True)]
    assert objective.losses(f, targets).tolist() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("members", [1, 3])
def test_the_slopes_are_autograds_for_many_networks_at_once(name: str, members: int) -> None:
    objective, targets = CASES[name]
    f = torch.stack([outputs(objective) * (m + 1) for m in range(members)]).requires_grad_()
    many = targets.expand(members, *targets.shape)
    losses, slopes = objective.losses_and_slopes(f, many)
    flat = objective.losses(f.flatten(0, 1), many.flatten(0, 1)).view(members, N)
    torch.testing.assert_close(losses, flat.detach(), rtol=1e-6, atol=1e-12)
    (expected,) = torch.autograd.grad(flat.sum(), f)
    torch.testing.assert_close(slopes, expected, rtol=1e-6, atol=1e-12)
    assert not slopes.requires_grad


@pytest.mark.parametrize("name", CASES)
def test_labels_as_numbers_have_the_shape_of_the_outputs(name: str) -> None:
    objective, targets = CASES[name]
    labels = objective.label_matrix(targets)
    assert labels.shape == (N, objective.outputs)
    if name.startswith("squared"):
        assert float(objective.losses(labels.double(), targets).abs().max()) == 0


@pytest.mark.parametrize(
    "name", [name for name in CASES if not name.endswith(("numbers", "vectors", "shades"))]
)
def test_a_decision_is_right_where_the_labels_themselves_are_given(name: str) -> None:
    objective, targets = CASES[name]
    labels = objective.label_matrix(targets).double()
    assert objective.correct(labels, targets).all()
    wrong = objective.correct(-labels, targets)
    assert not wrong.any()


@pytest.mark.parametrize("name", ["squared error of numbers", "cross-entropy of shades"])
def test_numbers_are_not_decided(name: str) -> None:
    objective, targets = CASES[name]
    assert objective.correct(outputs(objective), targets).isnan().all()


def objective_for(name: str, targets: Tensor, classes: int | None) -> Loss:
    loss: Loss = components.find("objective", name)().build(targets, classes)  # type: ignore[attr-defined]
    return loss


def test_each_objective_knows_how_many_outputs_it_needs() -> None:
    assert objective_for("cross_entropy", CLASSES, 3).outputs == 3
    assert objective_for("binary", CLASSES % 2, 2).outputs == 1
    assert objective_for("squared_error", CLASSES, 3).outputs == 3
    assert objective_for("squared_error", CLASSES % 2, 2).outputs == 1
    assert objective_for("squared_error", torch.randn(N, 5), None).outputs == 5
    assert objective_for("usual", CLASSES, 3) == CrossEntropyLoss(3)
    assert objective_for("usual", CLASSES % 2, 2) == BinaryLoss()
    assert objective_for("usual", torch.randn(N, 5), None) == SquaredErrorLoss(5)


@pytest.mark.parametrize(
    ("name", "targets", "classes", "words"),
    [
        ("binary", CLASSES, 3, "two classes, the data have 3"),
        ("binary", torch.randn(N), None, "takes classes, the data have numbers"),
        ("cross_entropy", torch.randn(N, 2), None, "takes classes, the data have numbers"),
        ("usual", CLASSES, None, "whole ones are taken for classes; expected floats"),
        ("usual", torch.randn(N), 3, r"numbers \(torch\.float32\); expected whole numbers, or"),
        # One output would take 1 and 2 for one class.
        ("binary", CLASSES % 2 + 1, 2, r"labels .* go from 1 to 2; expected one .* from 0 to 1"),
        ("squared_error", CLASSES % 2 + 1, 2, "go from 1 to 2"),
        ("cross_entropy", CLASSES[:, None], 3, r"have shape \(7, 1\)"),
    ],
)
def test_an_objective_that_means_nothing_is_refused(
    name: str, targets: Tensor, classes: int | None, words: str
) -> None:
    with pytest.raises(UserError, match=words):
        objective_for(name, targets, classes)
