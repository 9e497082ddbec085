"""Training in function space is the training of the linearised network: forward mode is the truth,
and for full batches with squared error the closed form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from torch import nn

from ntkexp import data, models
from ntkexp.config import TrainConfig
from ntkexp.data import Split
from ntkexp.errors import UserError
from ntkexp.tangent import tangent_kernel
from ntkexp.training.function_space import routes
from ntkexp.training.function_space.learner import FunctionLearner
from ntkexp.training.prepared import NetworkOnData
from ntkexp.training.supervised import Supervised
from ntkexp.transforms.linearise import Linearised
from tests.tiny_runs import (
    TINY,
    assert_agree,
    assert_same_files,
    composed,
    goes_on,
    prepared,
    table,
    train,
)
from tests.training.function_space.closed_form import descended

pytestmark = pytest.mark.usefixtures("made_images")

BASE = (*TINY, "probe=[]", "transform=linearise", "model.init=default")
MLP = ("data=mnist", "model=mlp", "model.depth=2", "model.width=12", "optim.lr=0.05")
CASES = {
    "classes": (*MLP, "optim.batch_size=13", "optim.steps=200"),
    "full batch": (*MLP, "optim.batch_size=null", "optim.steps=60", "optim.momentum=0"),
    "squared error": (*MLP, "objective=squared_error", "optim.steps=100", "optim.schedule=cosine"),
    "from zero": (*MLP, "transform.offset=none", "optim.steps=100"),
    "one logit": (
        *("data=disk", "model=mlp", "model.depth=3", "model.width=20", "optim.lr=0.1"),
        *("data.grid=6", "optim.batch_size=25", "optim.steps=200"),
    ),
    "convolutions": ("data=cifar10", "model=vgg11", "model.base=1", "optim.steps=12"),
    "frozen statistics": (
        *("data=cifar10", "model=resnet18", "model.base=1", "transform.batch_norm=eval"),
        *("optim.steps=8", "optim.lr=0.001"),
    ),
}


def in_float64(
    words: Sequence[str], change: Callable[[nn.Module], None] | None = None
) -> NetworkOnData:
    """What a run of these words trains, in double precision; `change` alters its network first."""
    config = OmegaConf.to_object(composed(words))
    assert isinstance(config, TrainConfig)
    found = data.load(config.data, config.seed, torch.device("cpu"), progress=False)
    dataset = replace(found, train=doubled(found.train), test=doubled(found.test))
    objective = config.objective.build(dataset.train.targets, dataset.classes)
    network = models.build(config.model, dataset.input_shape, objective.outputs, config.seed)
    if change is not None:
        change(network)
    transformed = config.transform.build(network.double(), dataset.train)
    return NetworkOnData(config, dataset, objective, transformed.module, transformed, {}, {})


def doubled(split: Split) -> Split:
    return replace(split, inputs=split.inputs.double())


def linearised(words: Sequence[str]) -> NetworkOnData:
    disk = any("data=disk" in word for word in words)
    return in_float64(
        [*(word for word in BASE if not disk or not word.startswith("data.test")), *words]
    )


def advanced(words: Sequence[str], route: str) -> tuple[Supervised, list[float]]:
    """The work at its end, and the loss of every minibatch."""
    work = Supervised(linearised(words), routes.ROUTES, route)
    losses = []
    while work.step < work.last:
        loss, _ = work.learner.step(work.step, work.lr(work.step), [], work.before_update)
        losses.append(loss.item())
        work.step += 1
    return work, losses


def as_by_forward_mode(words: Sequence[str], route: str) -> tuple[Supervised, Supervised]:
    """Both works at their ends. Fails where losses, evaluations or weights differ."""
    truth, expected = advanced(words, "network")
    ours, losses = advanced(words, route)
    np.testing.assert_allclose(losses, expected, rtol=1e-9)
    assert abs(expected[-1] - expected[0]) > 1e-3
    for split in ("train", "test"):
        here, there = truth.learner.evaluate(split), ours.learner.evaluate(split)
        np.testing.assert_allclose(here["all"], there["all"], rtol=1e-9)
    theirs = truth.learner.weights()
    for name, weight in ours.learner.weights().items():
        torch.testing.assert_close(weight, theirs[name], rtol=1e-8, atol=1e-10)
    return ours, truth


@pytest.mark.parametrize("case", CASES)
def test_forward_mode_trains_the_same(case: str) -> None:
    ours, truth = as_by_forward_mode(CASES[case], "function")
    assert isinstance(ours.learner, FunctionLearner)
    inputs = ours.dataset.test.inputs[:7]
    torch.testing.assert_close(
        ours.learner.followed()(inputs), truth.model(inputs), rtol=1e-9, atol=1e-10
    )


def test_the_norm_of_an_update_is_that_of_the_weights() -> None:
    truth, _ = advanced(CASES["classes"], "network")
    ours, _ = advanced(CASES["classes"], "function")
    expected = truth.learner.update_to_see(0, 0.1).step_norm
    torch.testing.assert_close(ours.learner.update_to_see(0, 0.1).step_norm, expected)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_full_batches_do_what_the_closed_form_says(momentum: float) -> None:
    words = (*CASES["full batch"], "objective=squared_error", f"optim.momentum={momentum}")
    ours, _ = advanced(words, "function")
    network, train_, test = ours.transformed.kernel, ours.dataset.train, ours.dataset.test
    assert network is not None
    with torch.no_grad():
        start, other = network(train_.inputs), network(test.inputs)
    residual = start - ours.objective.label_matrix(train_.targets).double()
    kernel = tangent_kernel(network, train_.inputs).gram.numpy()
    to_train = tangent_kernel(network, test.inputs, train_.inputs).gram.numpy()
    assert isinstance(ours.learner, FunctionLearner)
    linearised = ours.learner.followed()
    eta = 0.05 / len(train_)
    a = descended(kernel, residual.numpy().ravel(), 60, eta=eta, momentum=momentum)
    here = start.numpy() + (kernel @ a).reshape(start.shape)
    there = other.numpy() + (to_train @ a).reshape(other.shape)
    assert np.abs(here - start.numpy()).max() > 0.05
    np.testing.assert_allclose(linearised(train_.inputs).detach(), here, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(linearised(test.inputs).detach(), there, rtol=1e-9, atol=1e-11)


# float32 sums in another order, and what updates make of them.
ROUNDING = (1e-3, 1e-4)
WORDS = (*TINY, *MLP, "transform=linearise", "optim.steps=40")
WORDS += ("probe=[spectrum,complexity]", "probing.losses=[2.2,2.0]", "evaluate.batch_size=17")


def test_a_run_leaves_the_same_tables_and_weights(tmp_path: Path) -> None:
    forward = train(tmp_path / "forward", *WORDS, "transform.route=forward")
    function = train(tmp_path / "function", *WORDS, "transform.route=function")
    assert forward.name == function.name
    names = sorted(path.stem for path in forward.glob("*.parquet"))
    assert names == ["complexity", "evals", "events", "spectrum", "steps"]
    for name in names:
        assert_agree(table(function, name), table(forward, name), *ROUNDING)
    theirs = torch.load(forward / "weights.pt")
    for name, weight in torch.load(function / "weights.pt").items():
        torch.testing.assert_close(weight, theirs[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "stop_at", [9, *(pytest.param(step, marks=pytest.mark.on_demand) for step in (1, 31))]
)
def test_it_goes_on_where_it_was_cut_short_and_by_its_route(stop_at: int, tmp_path: Path) -> None:
    words = (*WORDS, "optim.schedule=cosine")
    whole = train(tmp_path / "whole", *words, "transform.route=function")
    train(tmp_path / "cut", *words, "transform.route=function", stop_at=stop_at)
    assert_same_files(whole, train(tmp_path / "cut", *words, "transform.route=forward"))


def test_it_stops_where_the_loss_is_low_enough(tmp_path: Path) -> None:
    words = [word for word in WORDS if "stop_loss" not in word and "steps" not in word]
    words += ["optim.stop_loss=0.4", "optim.steps=500"]
    forward, function = (
        table(train(tmp_path / route, *words, f"transform.route={route}"), "steps")
        for route in ("forward", "function")
    )
    assert 10 < len(function) < 500
    assert len(function) == len(forward)


MEMBERS = {
    "labels, one kernel": "members={data.noise: [0.0, 0.5, 1.0]}",
    "rates, one kernel": "members={optim.lr: [0.01, 0.1], optim.momentum: [0.0, 0.9]}",
    "seeds, a kernel each": 'members={seed: "range(3)"}',
    "both": "members={data.noise: [0.0, 0.5], seed: [3, 4]}",
}


@pytest.mark.parametrize(
    "which",
    # Both of them are in the last one.
    [
        pytest.param("labels, one kernel", marks=pytest.mark.on_demand),
        "rates, one kernel",
        pytest.param("seeds, a kernel each", marks=pytest.mark.on_demand),
        "both",
    ],
)
@pytest.mark.parametrize("batch_size", ["20", "null"])
def test_many_at_once_are_those_alone(which: str, batch_size: str, tmp_path: Path) -> None:
    words = (*WORDS, f"optim.batch_size={batch_size}", "optim.steps=25", "probe=[spectrum]")
    together = train(tmp_path, *words, MEMBERS[which])
    ends = table(together, "members")
    axes = [name for name in ends if name not in ("step", "outcome")]
    weights = torch.load(together / "weights.pt")
    order = {name: [] for name in weights}  # type: ignore[var-annotated]
    for values in ends[axes].drop_duplicates().to_dict("records"):
        own = [f"{key}={value}" for key, value in values.items()]
        taken = {word.split("=")[0] for word in own}
        rest = [word for word in words if word.split("=")[0] not in taken]
        alone = train(tmp_path, *rest, *own, "transform.route=function")
        for name in ("steps", "evals", "spectrum"):
            both = table(together, name)
            chosen = np.logical_and.reduce([both[key] == value for key, value in values.items()])
            mine = both[chosen].drop(columns=axes).reset_index(drop=True)
            assert_agree(mine, table(alone, name), *ROUNDING)
        for name, weight in torch.load(alone / "weights.pt").items():
            order[name].append(weight)
    for name, found in order.items():
        torch.testing.assert_close(weights[name], torch.stack(found), rtol=1e-3, atol=1e-5)


def test_runs_of_one_kernel_compute_it_once(tmp_path: Path) -> None:
    words = [*WORDS, "members={data.noise: [0.0, 0.5], seed: [3, 4]}"]
    work = prepared(composed(words)).work
    learners = [one.learner for one in work.works]  # type: ignore[attr-defined]
    kernels = [learner.kernels for learner in learners]
    assert kernels[0] is kernels[2] and kernels[1] is kernels[3]
    assert kernels[0] is not kernels[1]


def test_members_go_on_where_they_were_cut_short(tmp_path: Path) -> None:
    words = (*WORDS, "members={data.noise: [0.0, 1.0], seed: [1, 2]}", "optim.stop_loss=1.9")
    goes_on(tmp_path, *words, stop_at=13)


def test_many_updates_are_made_in_function_space_and_few_by_forward_mode() -> None:
    def chosen(*words: str) -> tuple[str, dict[str, object]]:
        ready = prepared(composed([*WORDS, "probe=[]", *words]))
        assert isinstance(ready.work, Supervised)
        return ready.work.learner.route, dict(ready.about["route"])

    few = ("optim.steps=1", "optim.batch_size=2", "data.train_examples=300")
    assert chosen("optim.steps=100000")[0] == "function"
    assert chosen(*few)[0] == "network"
    route, about = chosen(*few, "transform.route=function")
    assert (route, about["because"]) == ("function", "as transform.route says")
    assert set(chosen()[1]) == {"taken", "because"}
    for words, reason in (
        (("optim=adam",), "optim=adam"),
        (("optim.weight_decay=0.1",), "decays weights"),
    ):
        route, about = chosen("optim.steps=100000", *words)
        assert route == "network"
        assert reason in str(about["because"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["optim=adam"], "transform.route=function: optim=adam"),
        (["optim.weight_decay=0.1"], "optim.weight_decay=0.1"),
        (["data=cifar10", "data.augment=crop_flip"], "data.augment=crop_flip"),
        (["members={seed: [1, 2]}", "optim=adam"], "optim=adam"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(words: list[str], said: str, tmp_path: Path) -> None:
    rest = [word for word in WORDS if word.split("=")[0] not in {w.split("=")[0] for w in words}]
    with pytest.raises(UserError, match=said):
        train(tmp_path, *rest, *words, "transform.route=function")
    assert not list(tmp_path.iterdir())


def test_its_weights_are_made_for_who_asks(tmp_path: Path) -> None:
    prepared = linearised(CASES["classes"])
    work = Supervised(prepared, routes.ROUTES, "function")
    work.advance(5)
    assert isinstance(work.model, Linearised)
    before = work.model.network.output.weight.clone()  # type: ignore[union-attr]
    view = work.learner.view(step=5, last=False, event=None)
    kernel = view.kernel_on(prepared.dataset.test.inputs[:3])
    assert len(kernel.gram) == 30
    assert torch.equal(work.model.network.output.weight, before)  # type: ignore[arg-type,union-attr]
    view.network()
    assert not torch.equal(work.model.network.output.weight, before)  # type: ignore[arg-type,union-attr]
