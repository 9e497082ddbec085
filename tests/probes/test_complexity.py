"""Equation (18), against the weights of runs that end one iteration later."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from omegaconf import OmegaConf

from ntkexp import data, models, probes
from ntkexp.config import TrainConfig
from ntkexp.training.place import probe_batches
from tests.conftest import Ntkexp
from tests.tiny_runs import TINY, composed, train

pytestmark = pytest.mark.usefixtures("made_images")

NET = ("model=mlp", "data=mnist", "model.depth=2", "model.width=9", "probe=[complexity]")
EXACT = "probe.complexity.mode=exact"


def rows(run: Path) -> pd.DataFrame:
    return pd.read_parquet(run / "complexity.parquet")


def test_it_is_the_running_sum_over_every_iteration(tmp_path: Path) -> None:
    found = rows(train(tmp_path, *TINY, *NET, "optim.steps=20"))
    assert found["step"].tolist() == list(range(20))
    expected = np.cumsum(found["step_norm"] * np.sqrt(found["trace"]))
    np.testing.assert_allclose(found["complexity"], expected, rtol=1e-12)


def test_step_norm_is_how_far_the_weights_really_move(tmp_path: Path) -> None:
    words = (*TINY, *NET, "optim.weight_decay=0.01")
    weights = [
        torch.load(train(tmp_path, *words, f"optim.steps={steps}") / "weights.pt")
        for steps in (4, 5)
    ]
    moved = sum((weights[1][k] - weights[0][k]).square().sum().item() for k in weights[0]) ** 0.5
    last = rows(train(tmp_path, *words, "optim.steps=5", "seed=0")).iloc[-1]
    assert last["step_norm"] == pytest.approx(moved, rel=1e-4)


def test_the_exact_trace_is_that_of_the_fixed_batch_before_the_update(tmp_path: Path) -> None:
    words = (*TINY, *NET, EXACT, "optim.steps=1")
    config = composed(words)
    found = rows(train(tmp_path, *words))["trace"][0]
    plain = OmegaConf.to_object(config)
    assert isinstance(plain, TrainConfig)
    dataset = data.load(plain.data, plain.seed, torch.device("cpu"), progress=False)
    model = models.build(plain.model, dataset.input_shape, dataset.classes, plain.seed)
    batch = probe_batches(plain, dataset, probes.build(plain.probe), plain.seed)["train"]
    squares = 0.0
    for score in model(batch.inputs).flatten():
        for grad in torch.autograd.grad(score, list(model.parameters()), retain_graph=True):
            squares += grad.double().square().sum().item()
    assert found == pytest.approx(squares, rel=1e-5)


def test_watching_every_kth_iteration_lets_each_stand_for_k(tmp_path: Path) -> None:
    each = rows(train(tmp_path, *TINY, *NET, EXACT, "optim.steps=12"))
    some = rows(train(tmp_path, *TINY, *NET, EXACT, "optim.steps=12", "probe.complexity.every=3"))
    assert some["step"].tolist() == [0, 3, 6, 9]
    terms = each["step_norm"] * each["trace"] ** 0.5
    assert some["complexity"].iloc[-1] == pytest.approx(3 * terms[::3].sum(), rel=1e-6)


def test_with_one_output_the_estimate_is_exact_and_a_full_minibatch_is_the_whole_set(
    tmp_path: Path,
) -> None:
    disk = ("data=disk", "data.train_examples=30", "data.grid=4", "model.depth=2", "model.width=8")
    words = (*disk, "probe=[complexity]", "probing.examples=30", "optim.steps=10", "progress=false")
    words = (*words, "device=cpu", "optim.batch_size=null")
    exact = rows(train(tmp_path, *words, EXACT))
    for choice in ("fixed", "minibatch"):
        estimate = rows(train(tmp_path, *words, f"probe.complexity.batch={choice}"))
        np.testing.assert_allclose(estimate["trace"], exact["trace"], rtol=1e-5)


def test_the_estimate_is_unbiased_and_its_error_averages_out(tmp_path: Path) -> None:
    words = (*TINY, *NET, "optim.steps=300", "optim.lr=1e-6", "probing.spacing=list")
    words = (*words, "probing.steps=[0]")
    exact = rows(train(tmp_path, *words, EXACT))
    estimate = rows(train(tmp_path, *words))
    ratio = estimate["trace"] / exact["trace"]
    assert abs(ratio.mean() - 1) < 4 * ratio.std() / len(ratio) ** 0.5
    C = estimate["complexity"].iloc[-1] / exact["complexity"].iloc[-1]
    assert pytest.approx(1, abs=0.05) == C


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("probe.complexity.every=0",), "every=0"),
        (("probe.complexity.batch=minibatch", EXACT), "mode=estimate"),
        (("probe.complexity.batch=minibatch", "model=resnet18", "data=cifar10"), "model.norm=none"),
        (("probe.complexity.mode=exactly",), "exact, estimate"),
    ],
)
def test_what_has_no_meaning_is_refused(inside: Ntkexp, words: tuple[str, ...], told: str) -> None:
    done = inside("train", *TINY, "probe=[complexity]", *words, "optim.steps=1")
    assert done.returncode == 2
    assert told in done.stderr
