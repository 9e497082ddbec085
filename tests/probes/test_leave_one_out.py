"""The probe gives what fits without each example give, with the kernel of autograd."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from ntkexp import models
from ntkexp.config import TrainConfig
from ntkexp.data import load
from ntkexp.errors import UserError
from tests.theory.lazy.test_c_scores import brute_force
from tests.tiny_runs import TINY, composed, train

pytestmark = pytest.mark.usefixtures("made_images")
WORDS = (*TINY, "model=mlp", "model.depth=1", "model.width=12", "optim.steps=8", "optim.lr=0.1")
PROBE = ("probe=[leave_one_out]", "probe.leave_one_out.ridge=0.01")
DIGITS = (*WORDS, "data=mnist", *PROBE)
TWO = tuple(word for word in WORDS if "test_examples" not in word)
TWO = (*TWO, "data=digits_on_characters", "data.balanced=1", "data.train_examples=40", *PROBE)


def expected(words: tuple[str, ...], run: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Margins and residuals with the network's explicit Jacobian, at the start or the end."""
    from omegaconf import OmegaConf

    config = OmegaConf.to_object(composed(words))
    assert isinstance(config, TrainConfig)
    data = load(config.data, config.seed, torch.device("cpu"), progress=False)
    classes = data.classes or 0
    outputs = 1 if classes == 2 else classes
    model = models.build(config.model, data.input_shape, outputs, config.seed)
    if run is not None:
        model.load_state_dict(torch.load(run / "weights.pt", weights_only=True))
    model = model.double()
    phi = []
    for one in data.train.inputs.double():
        rows = []
        for output in model(one[None])[0]:
            parts = torch.autograd.grad(output, list(model.parameters()), retain_graph=True)
            rows.append(torch.cat([part.flatten() for part in parts]))
        phi.append(torch.stack(rows))
    features = torch.stack(phi)
    kernel = torch.einsum("icp,jcp->ij", features, features).numpy() / outputs
    labels = data.train.targets.numpy()
    y = 2.0 * labels[:, None] - 1 if outputs == 1 else np.eye(outputs)[labels]
    f = brute_force(kernel, y, 0.01 * np.diagonal(kernel).mean())
    if outputs == 1:
        margin = (y * f)[:, 0]
    else:
        margin = [f[i, k] - np.delete(f[i], k).max() for i, k in enumerate(labels)]
    return np.array(margin), np.linalg.norm(y - f, axis=1)


@pytest.mark.parametrize("words", [DIGITS, TWO], ids=["ten classes", "one logit"])
def test_it_gives_what_fits_without_each_example_give(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    run = train(tmp_path, *words)
    found = pd.read_parquet(run / "leave_one_out.parquet")
    assert sorted(found["step"].unique()) == [0, 8]
    for step, weights in ((0, None), (8, run)):
        rows = found[found["step"] == step].sort_values("example")
        margin, residual = expected(words, weights)
        assert rows["margin"].to_numpy() == pytest.approx(margin, abs=2e-3)
        assert rows["residual"].to_numpy() == pytest.approx(residual, abs=2e-3)


def test_fewer_examples(tmp_path: Path) -> None:
    run = train(tmp_path, *DIGITS, "probe.leave_one_out.examples=15")
    assert pd.read_parquet(run / "leave_one_out.parquet")["example"].max() == 14


def test_numbers_are_no_classes(tmp_path: Path) -> None:
    words = ("data=fitted_digits", "data.train_examples=40", "data.test_examples=20",
             "data.width=8", "model=mlp", "model.width=8", "optim.steps=2", "probing.examples=4",
             "progress=false", "device=cpu", "probe=[leave_one_out]")  # fmt: skip
    with pytest.raises(UserError, match=r"takes classes, and the targets are numbers"):
        train(tmp_path, *words)
