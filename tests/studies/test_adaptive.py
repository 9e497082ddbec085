from __future__ import annotations

import numpy as np
import pytest

from ntkexp.compose.check import shrink
from ntkexp.errors import UserError
from ntkexp.studies.effective_penalties import EffectivePenalties
from ntkexp.studies.threshold_targets import ThresholdTargets
from tests.tiny_runs import composed


def test_the_penalties_are_those_of_the_theory_below_the_square() -> None:
    found = EffectivePenalties(least=0.1, most=10.0, points=3).run()["effective_penalties"]
    values = found.pivot(index="v", columns="penalty", values="value")
    assert values.index.tolist() == pytest.approx([0, 0.1, 1, 10])
    golden = [0, 0.009903, 0.6695, 14.404027]
    np.testing.assert_allclose(values["square"], golden, atol=6e-7)
    np.testing.assert_allclose(values["none"], values.index**2)
    assert (values.drop(columns="none").le(values["none"] + 1e-12, axis=0)).all().all()
    with pytest.raises(UserError, match=r"study\.least"):
        EffectivePenalties(least=2.0, most=1.0).check()


@pytest.mark.usefixtures("made_images")
def test_thresholds_are_told_by_fit_and_split() -> None:
    found = ThresholdTargets(seeds=2, train_examples=40).run()["threshold_targets"]
    assert len(found) == 8
    assert found["accuracy"].between(0, 1).all()
    # 128 features fit the signs of 40 points exactly.
    exact = found[(found["fit"] == "least_squares") & (found["split"] == "train")]
    assert (exact["accuracy"] == 1).all()


@pytest.mark.parametrize(
    ("experiment", "key", "paper", "small"),
    [
        ("low_rank", "train_examples", 500, 100),
        ("relaxed", "seeds", 10, 1),
        ("relaxed_large", "iterations", 200, 50),
        ("targets", "seeds", 10, 3),
    ],
)
def test_small_is_a_miniature(experiment: str, key: str, paper: int, small: int) -> None:
    found = {}
    for scale in ("paper", "small"):
        words = [f"+exp=adaptive/{experiment}", f"scale={scale}"]
        config = composed(words, "study")
        shrink(config, typed=set())
        found[scale] = config.study[key]
    assert found == {"paper": paper, "small": small}
