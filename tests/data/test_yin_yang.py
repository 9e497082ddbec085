"""The yin-yang of two classes: its geometry, its areas and its draws."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
import torch

from ntkexp import data
from ntkexp.data.yin_yang import YinYang, groups, labels
from ntkexp.errors import UserError
from tests.tiny_runs import composed, train

CPU = torch.device("cpu")


def test_labels_are_those_of_the_figure() -> None:
    found = data.load(YinYang(train_examples=5000), seed=0, device=CPU)
    for (x, y), label in zip(
        found.train.inputs.tolist(), found.train.targets.tolist(), strict=True
    ):
        inside = any(math.dist((x, y), centre) < 0.3 for centre in ((0.5, -0.5), (-0.5, 0.5)))
        sign = 1 if y < 0 else -1
        assert label == (1 if (-sign if inside else sign) > 0 else 0)


def test_turned_by_half_the_classes_change_places() -> None:
    points = 2 * torch.rand(1000, 2, generator=torch.Generator().manual_seed(0)) - 1
    assert torch.equal(labels(-points), 1 - labels(points))


def test_the_areas_do_not_overlap_and_lie_where_they_should() -> None:
    test = data.load(YinYang(grid=200), seed=0, device=CPU).test
    shares = {name: mask.double().mean().item() for name, mask in test.groups.items()}
    assert shares["discs"] == pytest.approx(2 * math.pi * 0.3**2 / 4, rel=0.02)
    assert shares["open"] == pytest.approx(0.5, rel=0.01)
    # The rectangle from the boundary to the centre less half of the disc, twice.
    assert shares["between"] == pytest.approx((0.6 - math.pi * 0.3**2) / 4, rel=0.03)
    assert max(sum(map(int, masks)) for masks in zip(*test.groups.values(), strict=True)) == 1
    assert [*groups(torch.tensor([[0.5, -0.1]])).values()] == [False, True, False]


def test_points_depend_on_the_seed_alone() -> None:
    one, same, other = (data.load(YinYang(), seed=seed, device=CPU) for seed in (0, 0, 1))
    assert torch.equal(one.train.inputs, same.train.inputs)
    assert not torch.equal(one.train.inputs, other.train.inputs)
    assert torch.equal(one.test.inputs, other.test.inputs)
    assert one.train.inputs.abs().max() <= 1
    assert len(one.train) == 100


def test_too_many_points_are_refused() -> None:
    with pytest.raises(UserError, match=r"data\.grid=1000000"):
        composed(["+exp=lazy/yin_yang", "data.grid=1000000"])


def test_the_areas_are_evaluated_by_name(tmp_path: Path) -> None:
    words = ("+exp=lazy/yin_yang", "optim.steps=3", "data.grid=10", "members=null")
    evals = pd.read_parquet(train(tmp_path, *words, "progress=false") / "evals.parquet")
    found = set(evals[evals["split"] == "test"]["subset"])
    assert found == {"all", "discs", "between", "open"}
