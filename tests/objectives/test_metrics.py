"""Metrics against loops over examples and pairs, and as rows of a run."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from ntkexp.errors import UserError
from ntkexp.objectives.base import Loss
from ntkexp.objectives.binary import BinaryLoss
from ntkexp.objectives.cross_entropy import CrossEntropyLoss
from ntkexp.objectives.metrics import of_objective
from ntkexp.objectives.squared_error import SquaredErrorLoss
from tests.tiny_runs import TINY, composed, prepared, train

pytestmark = pytest.mark.usefixtures("made_images")

N = 23
NET = ("data=mnist", "model=mlp", "model.depth=1", "model.width=8", "probe=[]")


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def value(objective: Loss, name: str, outputs: Tensor, targets: Tensor) -> float:
    return of_objective(objective, [name])[0](outputs, targets)


@pytest.mark.parametrize("columns", [1, 3])
def test_squared_error_has_r_squared_and_the_mean_absolute_error(columns: int) -> None:
    f, y = drawn(N, columns), 2 + 3 * drawn(N, columns, seed=1)
    objective, pairs = SquaredErrorLoss(columns), list(product(range(N), range(columns)))
    means = [sum(float(y[i, c]) for i in range(N)) / N for c in range(columns)]
    rest = sum(float(y[i, c] - f[i, c]) ** 2 for i, c in pairs)
    spread = sum((float(y[i, c]) - means[c]) ** 2 for i, c in pairs)
    absolute = sum(abs(float(y[i, c] - f[i, c])) for i, c in pairs) / len(pairs)
    assert value(objective, "r_squared", f, y) == pytest.approx(1 - rest / spread, rel=1e-6)
    assert value(objective, "mean_absolute_error", f, y) == pytest.approx(absolute, rel=1e-6)


def test_numbers_in_a_row_are_those_in_a_column() -> None:
    f, y = drawn(N, 1), drawn(N, seed=1)
    for name in ("r_squared", "mean_absolute_error"):
        both = [value(SquaredErrorLoss(1), name, f, targets) for targets in (y, y[:, None])]
        assert both[0] == both[1]


def test_classes_are_the_numbers_that_squared_error_makes_of_them() -> None:
    y = torch.arange(N) % 2
    perfect = torch.where(y > 0, 1.0, -1.0)[:, None]
    assert value(SquaredErrorLoss(1), "r_squared", perfect, y) == 1
    assert value(SquaredErrorLoss(1), "mean_absolute_error", perfect - 0.5, y) == 0.5


@pytest.mark.parametrize("rounded", [False, True])
def test_the_area_under_the_curve_is_the_share_of_pairs_in_order(rounded: bool) -> None:
    f, y = drawn(N, 1), torch.arange(N) % 3 % 2
    f = f + y[:, None] * 0.7
    f = f.round() if rounded else f
    ones, zeros = ([float(f[i, 0]) for i in range(N) if y[i] == k] for k in (1, 0))
    pairs = [(a > b) + (a == b) / 2 for a, b in product(ones, zeros)]
    assert rounded == any(pair == 0.5 for pair in pairs)
    expected = sum(pairs) / len(pairs)
    assert 0.5 < expected < 1
    assert value(BinaryLoss(), "area_under_curve", f, y) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["mean_margin", "least_margin"])
def test_margins_are_negative_where_the_decision_is_wrong(name: str) -> None:
    f, y = drawn(N, 3), torch.arange(N) % 3
    of_classes = [
        float(row[k]) - max(float(row[j]) for j in range(3) if j != k)
        for row, k in zip(f, y.tolist(), strict=True)
    ]
    of_two = [float(row[0]) * (1 if k else -1) for row, k in zip(f, (y % 2).tolist(), strict=True)]
    over = {"mean_margin": lambda values: sum(values) / N, "least_margin": min}[name]
    assert value(CrossEntropyLoss(3), name, f, y) == pytest.approx(over(of_classes), rel=1e-6)
    assert value(BinaryLoss(), name, f, y % 2) == pytest.approx(over(of_two), rel=1e-6)
    wrong = (~CrossEntropyLoss(3).correct(f, y)).tolist()
    assert wrong == [margin < 0 for margin in of_classes]


def test_what_a_set_does_not_define_is_no_number() -> None:
    f = drawn(N, 1)
    assert math.isnan(value(BinaryLoss(), "area_under_curve", f, torch.ones(N, dtype=torch.long)))
    assert math.isnan(value(SquaredErrorLoss(1), "r_squared", f, torch.ones(N)))


def test_a_run_writes_them_beside_evals_that_stay_as_they_were(tmp_path: Path) -> None:
    words = (*TINY, *NET, "optim.steps=6", "probing.growth=2")
    plain = train(tmp_path / "plain", *words)
    asked = train(tmp_path / "asked", *words, "evaluate.metrics=[least_margin,mean_margin]")
    assert not (plain / "metrics.parquet").exists()
    for table in ("steps.parquet", "evals.parquet"):
        assert (plain / table).read_bytes() == (asked / table).read_bytes()
    rows, evals = (pd.read_parquet(asked / f"{name}.parquet") for name in ("metrics", "evals"))
    assert list(rows["metric"]) == ["least_margin", "mean_margin"] * len(evals)
    least = rows[rows["metric"] == "least_margin"].reset_index(drop=True)
    for column in ("step", "split", "subset"):
        assert list(least[column]) == list(evals[column])
    start = prepared(composed([*words])).work
    examples = start.dataset.train
    with torch.no_grad():
        outputs = start.model.eval()(examples.inputs).tolist()
    margins = [
        row[k] - max(row[:k] + row[k + 1 :])
        for row, k in zip(outputs, examples.targets.tolist(), strict=True)
    ]
    first = rows.query("step == 0 and split == 'train'").set_index("metric")["value"]
    assert first["least_margin"] == pytest.approx(min(margins), rel=1e-5)
    assert first["mean_margin"] == pytest.approx(sum(margins) / len(margins), rel=1e-5)


def test_named_subsets_have_metrics_of_their_own(tmp_path: Path) -> None:
    words = (*TINY, *NET, "data.noise=0.5", "optim.steps=4", "probing.growth=2")
    asked = ("evaluate.subsets=[noisy,intact]", "evaluate.metrics=[mean_absolute_error]")
    run = train(tmp_path, *words, "objective=squared_error", *asked)
    rows = pd.read_parquet(run / "metrics.parquet").query("split == 'train'")
    by_subset = rows.pivot(index="step", columns="subset", values="value")
    corrupted = prepared(composed([*words])).work.dataset.train.corrupted
    share = float(corrupted.double().mean())
    mixed = share * by_subset["noisy"] + (1 - share) * by_subset["intact"]
    np.testing.assert_allclose(mixed, by_subset["all"], rtol=1e-9)


def test_a_metric_that_the_objective_does_not_have_is_refused(tmp_path: Path) -> None:
    words = (*TINY, *NET, "optim.steps=4")
    known = "mean_margin, least_margin"
    with pytest.raises(UserError, match=f"evaluate.metrics=r_squared: .* {known}"):
        train(tmp_path, *words, "evaluate.metrics=[r_squared]")
    with pytest.raises(UserError, match="mean_margin is named twice"):
        train(tmp_path, *words, "evaluate.metrics=[mean_margin,mean_margin]")
    assert not list(tmp_path.iterdir())


def test_a_loss_of_ones_own_may_have_metrics_or_none() -> None:
    class Own:
        def metrics(self) -> dict[str, object]:
            return {"largest": lambda outputs, targets: outputs.max().item()}

    own: Loss = Own()  # type: ignore[assignment]
    assert value(own, "largest", torch.tensor([[1.0], [4.0]]), torch.zeros(2)) == 4
    none: Loss = object()  # type: ignore[assignment]
    with pytest.raises(UserError, match="expected none: it has none"):
        of_objective(none, ["largest"])
