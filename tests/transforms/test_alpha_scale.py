"""f^alpha = f_0 + alpha (f - f_0): where it starts, how it moves, and that nothing disturbs it."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from ntkexp import models
from ntkexp.data import Split
from ntkexp.errors import UserError
from ntkexp.models.mlp import Mlp
from ntkexp.tangent import tangent_kernel
from ntkexp.training.supervised import Supervised
from ntkexp.transforms.alpha_scale import AlphaScale, Heads, Offset, OnTrainingSet
from ntkexp.transforms.base import Transformed
from tests.tiny_runs import TINY, composed, goes_on, prepared, table, train

pytestmark = pytest.mark.usefixtures("made_images")

NET = ("model=mlp", "data=mnist", "model.depth=2", "model.width=16", "model.init=default")
WORDS = (*TINY, *NET, "optim.steps=20", "optim.lr=0.02")
SCALED = ("transform=alpha_scale", "transform.alpha=50")


def made(alpha: float, offset: Offset = Offset.f0) -> tuple[nn.Module, Transformed, Split]:
    network = models.build(Mlp(depth=2, width=30), (5,), 3, seed=1).double()
    stream = torch.Generator().manual_seed(0)
    inputs = torch.randn(40, 5, generator=stream, dtype=torch.float64)
    split = Split.clean(inputs, torch.randint(3, (40,), generator=stream))
    return network, AlphaScale(alpha=alpha, offset=offset).build(network, split), split


@pytest.mark.parametrize("alpha", [0.5, 1.0, 100.0])
@pytest.mark.parametrize("offset", Offset)
def test_it_starts_where_the_network_does_or_at_zero(alpha: float, offset: Offset) -> None:
    network, transformed, train_ = made(alpha, offset)
    expected = network(train_.inputs) * (offset is Offset.f0)
    torch.testing.assert_close(transformed.module(train_.inputs), expected, rtol=0, atol=0)


def test_both_ways_are_the_formula_once_the_network_has_moved() -> None:
    for offset, kept in ((Offset.f0, 1.0), (Offset.none, 0.0)):
        network, transformed, train_ = made(7.0, offset)
        start = copy.deepcopy(network)
        with torch.no_grad():
            for w in network.parameters():
                w += 0.1 * torch.randn(w.shape, generator=torch.Generator().manual_seed(3))
        numbers = torch.tensor([4, 17, 4, 39])
        inputs = train_.inputs[numbers]
        expected = kept * start(inputs) + 7 * (network(inputs) - start(inputs))
        quick = transformed.on_training_set
        assert isinstance(quick, OnTrainingSet)
        torch.testing.assert_close(transformed.module(inputs), expected)
        torch.testing.assert_close(quick(inputs, numbers), expected)
        of_a_stack = Heads([quick]).at(numbers[None])
        torch.testing.assert_close(of_a_stack(network(inputs)[None])[0], expected)


def stepped(alpha: float, lr: float) -> torch.Tensor:
    """By how much one step of gradient descent moves the function, in units of the rate."""
    _, transformed, train_ = made(alpha)
    module = transformed.module
    before = module(train_.inputs)
    loss = nn.functional.cross_entropy(before, train_.targets)
    weights = list(module.parameters())
    gradients = torch.autograd.grad(loss, weights)
    with torch.no_grad():
        for w, gradient in zip(weights, gradients, strict=True):
            w -= lr * transformed.rate * gradient
        return (module(train_.inputs) - before) / lr


def test_the_function_moves_alike_for_all_alpha_to_first_order() -> None:
    """T19, and that the move is -eta K dl with the kernel of the network itself."""
    network, _, train_ = made(1.0)
    outputs = network(train_.inputs).detach().requires_grad_()
    loss = nn.functional.cross_entropy(outputs, train_.targets)
    (slopes,) = torch.autograd.grad(loss, outputs)
    expected = -(tangent_kernel(network, train_.inputs).gram @ slopes.flatten()).view(40, 3)
    size = expected.abs().max()
    errors = [
        ((stepped(alpha, 0.01) - expected).abs().max() / size).item() for alpha in (1, 10, 100)
    ]
    assert errors[1] < errors[0] / 5
    assert errors[2] < errors[1] / 5
    assert errors[2] < 1e-3


def test_the_kernel_is_that_of_the_function() -> None:
    _, transformed, train_ = made(5.0)
    assert transformed.kernel is not None
    direct = tangent_kernel(transformed.module, train_.inputs[:9]).gram
    by_factor = tangent_kernel(transformed.kernel, train_.inputs[:9]).times(
        transformed.kernel_factor
    )
    torch.testing.assert_close(by_factor.gram, direct)
    torch.testing.assert_close(sum(by_factor.layers.values()), direct)


@pytest.mark.parametrize("objective", ["cross_entropy", "squared_error"])
def test_alpha_1_is_plain_training(objective: str, tmp_path: Path) -> None:
    words = (*WORDS, f"objective={objective}", "probe=[spectrum,complexity]")
    plain = train(tmp_path / "plain", *words)
    same = train(tmp_path / "alpha", *words, "transform=alpha_scale")
    for name in ("steps", "evals", "spectrum", "complexity"):
        pd.testing.assert_frame_equal(table(plain, name), table(same, name))
    assert (plain / "weights.pt").read_bytes() == (same / "weights.pt").read_bytes()


def test_complexity_and_traces_are_those_of_the_scaled_function(tmp_path: Path) -> None:
    words = (*WORDS, "probe=[complexity,spectrum]", "probe.complexity.mode=exact")
    plain = train(tmp_path / "plain", *words)
    lazy = train(tmp_path / "lazy", *words, *SCALED)
    first, scaled = table(plain, "complexity").iloc[0], table(lazy, "complexity").iloc[0]
    assert scaled["trace"] == pytest.approx(2500 * first["trace"], rel=1e-4)
    assert scaled["step_norm"] == pytest.approx(first["step_norm"] / 50, rel=1e-3)
    assert scaled["complexity"] == pytest.approx(first["complexity"], rel=1e-3)
    np.testing.assert_allclose(table(lazy, "steps")["lr"], 0.02 / 2500)
    own = table(plain, "spectrum")["eigenvalue"][:20]
    np.testing.assert_allclose(table(lazy, "spectrum")["eigenvalue"][:20], 2500 * own, rtol=1e-3)


@pytest.mark.parametrize("batch", ["fixed", "minibatch"])
def test_the_complexity_of_first_updates_does_not_know_alpha(batch: str, tmp_path: Path) -> None:
    """|dw| falls as 1 / alpha, and |Phi| grows as alpha."""
    words = (*WORDS, "probe=[complexity]", f"probe.complexity.batch={batch}")
    first = [
        table(
            train(tmp_path / alpha[-2:].strip("="), *words, "transform=alpha_scale", alpha),
            "complexity",
        )
        for alpha in ("transform.alpha=1", "transform.alpha=50")
    ]
    one, other = (found["complexity"].iloc[0] for found in first)
    assert other == pytest.approx(one, rel=1e-4)
    assert first[1]["step_norm"][0] == pytest.approx(first[0]["step_norm"][0] / 50, rel=1e-4)


def test_the_first_loss_of_changed_images_does_not_know_alpha(tmp_path: Path) -> None:
    """f_0 is that of the images as the network sees them, cropped and flipped."""
    words = (*WORDS, "data.augment=crop_flip", "optim.steps=1", "probe=[]", "transform=alpha_scale")
    first = [
        pd.read_parquet(train(tmp_path, *words, f"transform.alpha={alpha}") / "steps.parquet")
        for alpha in (1, 50)
    ]
    assert first[1]["train_loss"][0] == pytest.approx(first[0]["train_loss"][0], rel=1e-4)


@pytest.mark.parametrize("augment", ["none", "crop_flip"])
def test_it_goes_on_where_it_was_cut_short(augment: str, tmp_path: Path) -> None:
    words = (*TINY, *SCALED, "data=cifar10", "model=vgg11", "model.base=2", "optim.steps=8")
    words += (f"data.augment={augment}", "probe=[spectrum,complexity]", "evaluate.batch_size=7")
    goes_on(tmp_path, *words, stop_at=3)


def test_members_scale_each_by_its_own_alpha(tmp_path: Path) -> None:
    words = (*WORDS, "transform=alpha_scale", "probe=[spectrum]")
    together = train(tmp_path, *words, "members={transform.alpha: [0.5, 1.0, 50.0], seed: [1, 2]}")
    steps = table(together, "steps")
    for alpha in (0.5, 1.0, 50.0):
        for seed in (1, 2):
            alone = table(
                train(tmp_path, *words, f"transform.alpha={alpha}", f"seed={seed}"), "steps"
            )
            own = steps[(steps["transform.alpha"] == alpha) & (steps["seed"] == seed)]
            np.testing.assert_allclose(own["train_loss"], alone["train_loss"], rtol=2e-3)
            np.testing.assert_allclose(own["lr"], alone["lr"], rtol=1e-12)


def test_members_of_a_net_that_is_no_perceptron(tmp_path: Path) -> None:
    words = (*TINY, "data=cifar10", "model=vgg11", "model.base=2", "optim.steps=4", "probe=[]")
    words += ("transform=alpha_scale", "transform.offset=none", "optim.lr=0.001")
    together = table(train(tmp_path, *words, "members={transform.alpha: [1.0, 9.0]}"), "steps")
    for alpha in (1.0, 9.0):
        alone = table(train(tmp_path, *words, f"transform.alpha={alpha}"), "steps")
        own = together[together["transform.alpha"] == alpha]
        np.testing.assert_allclose(own["train_loss"], alone["train_loss"], rtol=2e-3)


def test_frozen_statistics_are_neither_used_up_nor_moved(tmp_path: Path) -> None:
    words = (*TINY, *SCALED, "data=cifar10", "model=resnet18", "model.base=2", "optim.steps=3")
    run = train(tmp_path, *words, "transform.batch_norm=eval", "probe=[spectrum]")
    weights = torch.load(run / "weights.pt")
    assert (weights["norm1.running_mean"] == 0).all()
    assert weights["norm1.num_batches_tracked"] == 0
    # Bit for bit the outputs of the network, as f - f_0 = 0.
    work = prepared(composed([*words, "transform.batch_norm=eval"])).work
    assert isinstance(work, Supervised)
    x = work.dataset.train.inputs[:5]
    assert torch.equal(work.model(x), work.transformed.kernel(x))  # type: ignore[misc]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["transform.alpha=0"], "transform.alpha=0"),
        (["data=cifar10", "model=resnet18"], "transform.batch_norm=train: .* model.norm=none"),
        (["probe=[measures]"], "probe.measures: looks at layers"),
        (
            ["data=cifar10", "model=vgg11", "data.augment=crop_flip", "members={seed: [1, 2]}"],
            "members: transform=alpha_scale knows the first outputs",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(words: list[str], said: str, tmp_path: Path) -> None:
    base = [*TINY, "data=mnist", "optim.steps=2", "transform=alpha_scale", "model=mlp"]
    taken = {word.split("=")[0] for word in words}
    with pytest.raises(UserError, match=said):
        train(tmp_path, *[word for word in base if word.split("=")[0] not in taken], *words)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        (nn.BatchNorm1d(5, track_running_stats=False).eval(), "statistics of its minibatch"),
        (nn.RReLU(), "draws at random"),
        (nn.LSTM(5, 5, num_layers=2, dropout=0.1), "layer 0 draws at random"),
    ],
)
def test_batches_and_chance_are_refused_in_layers_of_ones_own(layer: nn.Module, said: str) -> None:
    """A batch norm without running statistics takes those of the batch in every mode."""
    network, _, split = made(1.0)
    with pytest.raises(UserError, match=said):
        AlphaScale(alpha=2.0).build(nn.Sequential(layer, network), split)
