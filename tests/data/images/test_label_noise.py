"""Random labels are as many, as uniform and as stable as they should be."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from ntkexp.data.dataset import Split, redraw_labels
from ntkexp.errors import UserError

COUNT, CLASSES = 50_000, 10
LABELS = torch.arange(COUNT) % CLASSES


def redraw(share: float, seed: int = 0, *, excludes_true: bool = False) -> tuple[Tensor, Tensor]:
    return redraw_labels(LABELS, share, CLASSES, seed, "noise", excludes_true=excludes_true)


@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_a_share_is_redrawn_and_a_tenth_of_it_comes_out_right(share: float) -> None:
    labels, redrawn = redraw(share)
    tolerance = 5 * math.sqrt(0.25 / COUNT)
    assert redrawn.double().mean().item() == pytest.approx(share, abs=tolerance)
    changed = (labels != LABELS).double().mean().item()
    assert changed == pytest.approx(0.9 * share, abs=tolerance)
    assert torch.equal(labels[~redrawn], LABELS[~redrawn])


@pytest.mark.parametrize("excludes_true", [False, True])
def test_drawn_labels_are_uniform_whatever_the_true_one(excludes_true: bool) -> None:
    labels, _ = redraw(1.0, excludes_true=excludes_true)
    counts = torch.zeros(CLASSES, CLASSES, dtype=torch.float64)
    counts.index_put_((LABELS, labels), torch.ones(COUNT, dtype=torch.float64), accumulate=True)
    possible = (
        ~torch.eye(CLASSES, dtype=torch.bool) if excludes_true else torch.ones_like(counts) > 0
    )
    expected = COUNT / int(possible.sum())
    chi_square = ((counts[possible] - expected) ** 2 / expected).sum().item()
    freedom = int(possible.sum()) - CLASSES
    assert abs(chi_square - freedom) < 5 * math.sqrt(2 * freedom)
    assert not counts[~possible].any()


def test_more_noise_keeps_what_less_noise_did() -> None:
    (few, less), (many, more) = redraw(0.2), redraw(0.5)
    assert bool((more | ~less).all())
    assert torch.equal(few[less], many[less])


def test_labels_depend_on_the_seed_alone() -> None:
    first, _ = redraw(0.5)
    torch.manual_seed(123)
    assert torch.equal(first, redraw(0.5)[0])
    assert not torch.equal(first, redraw(0.5, seed=1)[0])


def test_examples_of_ones_own_are_made_noisy_as_the_houses_are() -> None:
    inputs = torch.arange(len(LABELS), dtype=torch.float32)[:, None]
    split = Split.of(inputs, LABELS, noise=0.5, classes=CLASSES, seed=3)
    labels, redrawn = redraw(0.5, 3)
    assert torch.equal(split.targets, labels)
    assert torch.equal(split.corrupted, redrawn)
    assert torch.equal(split.clean_targets, LABELS)
    pairs = [(x, int(y)) for x, y in zip(inputs, LABELS, strict=True)]
    again = Split.of(pairs, noise=0.5, classes=CLASSES, seed=3)
    assert torch.equal(again.inputs, inputs)
    assert torch.equal(again.targets, labels)
    with pytest.raises(UserError, match=r"example 1 has the target 0\.7; expected a class"):
        Split.of([(torch.zeros(1), 1.0), (torch.zeros(1), 0.7)])


def test_difficult_examples_of_ones_own_are_left_to_themselves() -> None:
    """Those that a mask names keep their labels; so many that are drawn get random ones."""
    inputs = torch.zeros(len(LABELS), 1)
    mask = torch.arange(len(LABELS)) % 3 == 0
    named = Split.of(inputs, LABELS, noise=1.0, difficult=mask, classes=CLASSES)
    assert torch.equal(named.targets[mask], LABELS[mask])
    assert torch.equal(named.corrupted, ~mask)
    drawn = Split.of(inputs, LABELS, difficult=200, classes=CLASSES)
    assert int(drawn.difficult.sum()) == 200
    assert torch.equal(drawn.corrupted, drawn.difficult)
    assert torch.equal(drawn.targets[~drawn.difficult], LABELS[~drawn.difficult])
    right = (drawn.targets == LABELS)[drawn.difficult].double().mean()
    assert abs(right - 1 / CLASSES) < 4 * (1 / CLASSES / 200) ** 0.5
