"""The relaxed model beside a network: what Theorem 2 gives for the network's own features."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from ntkexp import data, models
from ntkexp.data.fitted_digits import FittedDigits
from ntkexp.errors import UserError
from ntkexp.models.bias_free_mlp import BiasFreeMlp
from ntkexp.theory.adaptive.penalties import Fixed, Power, joint_penalty
from ntkexp.theory.adaptive.solver import adapt
from tests.theory.adaptive.exact import Dense, diagonal_solution
from tests.tiny_runs import train

pytestmark = pytest.mark.usefixtures("module_images")
WORDS = (
    "data=fitted_digits",
    "data.train_examples=30",
    "data.width=16",
    "model=bias_free_mlp",
    "model.width=6",
    "objective=squared_error",
    "probe=[relaxed_model]",
    "probe.relaxed_model.examples=10",
    "probe.relaxed_model.points=4",
    "probe.relaxed_model.iterations=40",
    "probe.relaxed_model.diagonal=true",
    "probing.examples=6",
    "probing.spacing=list",
    "probing.steps=[0]",
    "optim.steps=200",
    "optim.lr=0.2",
    "optim.batch_size=null",
    "optim.stop_loss=null",
    "progress=false",
    "device=cpu",
)


@pytest.fixture(scope="module")
def run(module_images: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train(tmp_path_factory.mktemp("outputs"), *WORDS)


def table(run: Path, name: str) -> pd.DataFrame:
    return pd.read_parquet(run / f"relaxed_{name}.parquet")


def test_it_is_the_solution_with_dense_gradients_of_the_network(run: Path) -> None:
    config = FittedDigits(train_examples=30, width=16)
    x = data.load(config, 0, torch.device("cpu"), progress=False).train.inputs[:10].double()
    net = models.build(BiasFreeMlp(width=6), (1, 28, 28), 1, seed=0).double()
    parameters = dict(net.named_parameters())
    start = [p.detach().clone().numpy() for p in parameters.values()]
    rows = [torch.autograd.grad(net(one[None])[0, 0], [*parameters.values()]) for one in x]
    layers = [Dense(torch.stack(layer).numpy()) for layer in zip(*rows, strict=True)]
    end = {name: p.double() for name, p in torch.load(run / "weights.pt").items()}
    with torch.no_grad():
        f0 = net(x)[:, 0].numpy()
        net.load_state_dict(end)
        r = net(x)[:, 0].numpy() - f0
    square = Power(2)
    sides = [(square, square), (square, square), (Fixed(), square)]
    expected = adapt(layers, r, sides, iterations=40, tolerance=1e-6)
    found = table(run, "singular_values").set_index(["of", "layer"])["value"]
    for layer, B, before in zip(("hidden1", "hidden2", "output"), expected.B, start, strict=True):
        truth = np.linalg.svd(B, compute_uv=False)
        np.testing.assert_allclose(found["relaxed", layer], truth, atol=2e-3 * truth[0])
        change = end[f"{layer}.weight"].numpy() - before
        own = np.linalg.svd(change, compute_uv=False)
        np.testing.assert_allclose(found["network", layer], own, atol=1e-4)
    # What is paid is the same on either side of the last layer, (1, Q); its kernel is not.
    grown = [
        np.linalg.norm(kernel - one.gram(*map(np.eye, one.shape)))
        for one, kernel in zip(layers, expected.kernels, strict=True)
    ]
    shares = table(run, "layers").set_index("of").loc["relaxed", "share"]
    np.testing.assert_allclose(shares, np.array(grown) / sum(grown), rtol=0.01)
    solution = table(run, "solution").iloc[0]
    assert solution["least"] == pytest.approx(expected.objectives[-1], rel=1e-3)
    flat = np.concatenate([one.gradients.reshape(10, -1) for one in layers], axis=1)
    beta, cut = np.linalg.pinv(flat) @ r, np.cumsum([one.gradients[0].size for one in layers])
    least_norm = [
        part.reshape(one.shape) for part, one in zip(np.split(beta, cut[:-1]), layers, strict=True)
    ]
    paid = sum(joint_penalty(B, *pair) for B, pair in zip(least_norm, sides, strict=True))
    assert solution["min_norm"] == pytest.approx(paid, rel=1e-3)
    assert solution["least"] <= solution["min_norm"]
    # The model with a scale for every parameter, of the same features.
    sparse, objectives = diagonal_solution(flat, r, square, iterations=40)
    diagonal = table(run, "diagonal").iloc[0]
    assert diagonal["least"] == pytest.approx(objectives[-1], rel=1e-3)
    assert diagonal["least"] < diagonal["min_norm"]
    entries = table(run, "entries").set_index(["of", "layer"])
    changes = {
        "diagonal": np.split(sparse, cut[:-1]),
        "min_norm": least_norm,
        "network": [
            end[f"{name}.weight"].numpy() - before
            for name, before in zip(("hidden1", "hidden2", "output"), start, strict=True)
        ],
    }
    for kind, parts in changes.items():
        for layer, part in zip(("hidden1", "hidden2", "output"), parts, strict=True):
            squares = np.sort(part.ravel() ** 2)[::-1]
            row = entries.loc[kind, layer]
            matter = squares.sum() ** 2 / (squares**2).sum()
            assert row["entries"] == pytest.approx(matter, rel=0.02)
            largest = round(row["share"] * len(squares))
            assert squares[:largest].sum() == pytest.approx(0.9 * squares.sum(), rel=0.2)


def test_layers_and_kernels_are_told_beside_the_networks(run: Path) -> None:
    layers, kernels = table(run, "layers"), table(run, "kernels")
    np.testing.assert_allclose(layers.groupby("of")["share"].sum(), 1, rtol=1e-9)
    assert set(kernels["other"]) == {"average", "initial", "final", "residual"}
    assert kernels["cosine"].between(0, 1).all()


def test_the_diagonal_model_is_solved_when_it_is_asked_for(tmp_path: Path) -> None:
    words = [word for word in WORDS if "diagonal" not in word]
    found = train(tmp_path, *words, "optim.steps=2")
    assert len(table(found, "solution")) == 1
    assert len(table(found, "diagonal")) == len(table(found, "entries")) == 0


def test_a_network_with_biases_is_refused_before_it_is_trained(tmp_path: Path) -> None:
    words = [w for w in WORDS if not w.startswith("model")]
    with pytest.raises(UserError, match=r"hidden1\.bias.*linear layer"):
        train(tmp_path, *words, "model=mlp", "model.width=6", "model.depth=2")


def test_many_outputs_are_refused_before_training(tmp_path: Path) -> None:
    words = ["data=mnist", "data.train_examples=20", "data.test_examples=20", *WORDS[-2:]]
    words += ["model=bias_free_mlp", "model.width=6", "probe=[relaxed_model]", "optim.steps=1"]
    with pytest.raises(UserError, match="one output"):
        train(tmp_path, *words, "probing.examples=6")
