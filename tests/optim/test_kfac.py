"""KFAC, EKFAC and EKFAC-ra against dense matrices, and as runs that are killed and go on."""

from __future__ import annotations

import json
import math
import weakref
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import ntkexp
from ntkexp.errors import RunFailed, UserError
from ntkexp.objectives.cross_entropy import CrossEntropyLoss
from ntkexp.optim.kfac import Damps, Kfac, KfacUpdate, Second
from ntkexp.optim.observer import Forward, recorded
from tests.tiny_runs import TINY, composed, goes_on, table, train

N, PERIOD, DAMPING, LR, MOMENTUM = 20, 2, 0.05, 0.1, 0.5
LOSS = CrossEntropyLoss(3)
WORDS = ("data=mnist", "model=mlp", "model.depth=2", "model.width=5", "optim=kfac", "probe=[]")


def net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 5), nn.Sigmoid(), nn.Linear(5, 3, bias=False)).double()


def batch(step: int) -> tuple[Tensor, Tensor]:
    stream = torch.Generator().manual_seed(step)
    return torch.randn(N, 4, generator=stream).double(), torch.arange(N) % 3


def step_of(update: KfacUpdate, model: nn.Module, step: int) -> list[Tensor]:
    """The coming change of every weight after one more mini-batch."""
    x, y = batch(step)
    with update.around_forward(model), recorded(model) as passed:
        outputs = model(x)
    update.on_forward(Forward(step, 0, model, x, outputs, y, LOSS, passed))
    LOSS.losses(outputs, y).mean().backward()  # type: ignore[no-untyped-call]
    update.compute()
    return update.change(update.rate(LR))


def single_gradients(model: nn.Sequential, step: int) -> list[tuple[Tensor, Tensor]]:
    """Of each linear layer, inputs with a 1 for a bias (n, K), and gradients of its outputs (n, O),
    one example at a time."""
    rows: list[list[tuple[Tensor, Tensor]]] = [[], []]
    for x, y in zip(*batch(step), strict=True):
        hidden = model[0](x)
        code = model[1](hidden)
        outputs = model[2](code)
        loss = LOSS.losses(outputs[None], y[None]).sum()
        of_hidden, of_outputs = torch.autograd.grad(loss, [hidden, outputs])
        rows[0].append((torch.cat([x, torch.ones(1).double()]), of_hidden))
        rows[1].append((code.detach(), of_outputs))
    return [
        (torch.stack([u for u, _ in of_layer]), torch.stack([v for _, v in of_layer]))
        for of_layer in rows
    ]


class Dense:
    """Algorithm 1 of George's thesis for one layer, by matrices (O K, O K)."""

    def __init__(self, options: Kfac) -> None:
        self.options = options
        self.scale = torch.zeros(())

    def divided(self, u: Tensor, v: Tensor, renews: bool) -> tuple[Tensor, Tensor]:
        """F^-1 g, and g, as (O K)."""
        options, root = self.options, math.sqrt(self.options.damping)
        if renews:
            self.a, self.b = u.T @ u / N, v.T @ v / N
            (s_a, u_a), (s_b, u_b) = torch.linalg.eigh(self.a), torch.linalg.eigh(self.b)
            self.basis, self.scale = torch.kron(u_b, u_a), torch.kron(s_b, s_a)
            spread = torch.kron(s_b + root, s_a + root) - self.scale
            self.added = spread if options.damps is Damps.factors else options.damping
        rows = torch.einsum("no,nk->nok", v, u).flatten(1)
        gradient = rows.mean(0)
        if options.second is Second.batch:
            self.scale = (rows @ self.basis).square().mean(0)
        if options.second is Second.running:
            self.scale = 0.75 * self.scale + 0.25 * N * (gradient @ self.basis).square()
        fisher = self.basis @ torch.diag(self.scale + self.added) @ self.basis.T
        return torch.linalg.solve(fisher, gradient), gradient


@pytest.mark.parametrize("norm_constraint", [False, True])
@pytest.mark.parametrize("damps", list(Damps))
@pytest.mark.parametrize("second", list(Second))
def test_updates_are_those_of_dense_matrices(
    second: Second, damps: Damps, norm_constraint: bool
) -> None:
    options = Kfac(
        second=second,
        damps=damps,
        period=PERIOD,
        damping=DAMPING,
        momentum=MOMENTUM,
        norm_constraint=norm_constraint,
        halve_every=2,
    )
    model = net()
    update = KfacUpdate(model, options)
    layers = [Dense(options), Dense(options)]
    velocities = [torch.zeros(()), torch.zeros(())]
    for step in range(2 * PERIOD + 1):
        factors = single_gradients(model, step)
        changes = step_of(update, model, step)
        pairs = [
            layer.divided(u, v, step % PERIOD == 0)
            for layer, (u, v) in zip(layers, factors, strict=True)
        ]
        length = math.sqrt(sum(float(d @ g) for d, g in pairs)) if norm_constraint else 1.0
        velocities = [
            MOMENTUM * velocity + d / length
            for velocity, (d, _) in zip(velocities, pairs, strict=True)
        ]
        hidden, output = (-LR * velocity for velocity in velocities)
        halved = 0.5 ** ((step + 1) // 2)  # the rate of the update that comes after this one
        expected = [hidden.view(5, 5)[:, :4], hidden.view(5, 5)[:, 4], output.view(3, 5)]
        for change, dense in zip(changes, expected, strict=True):
            torch.testing.assert_close(change, halved * dense)
        update.apply(LR)


def test_nothing_of_a_forward_outlives_its_update() -> None:
    model = net()
    update = Kfac(second=Second.batch).build_for(model, LOSS)
    x, y = batch(0)
    with update.around_forward(model), recorded(model) as passed:
        outputs = model(x)
    seen = [weakref.ref(one.inputs) for one in passed]
    update.on_forward(Forward(0, 0, model, x, outputs, y, LOSS, passed))
    LOSS.losses(outputs, y).mean().backward()  # type: ignore[no-untyped-call]
    update.compute()
    del passed, outputs
    assert [of() for of in seen] == [None, None]


NETWORKS = {
    "mlp": WORDS[:4],
    "vgg": ("data=cifar10", "model=vgg", "model.base=2", "optim.sua=true"),
}


@pytest.mark.usefixtures("made_images")
@pytest.mark.parametrize("second", list(Second))
@pytest.mark.parametrize("network", NETWORKS)
def test_a_run_that_was_killed_goes_on_alike(tmp_path: Path, second: Second, network: str) -> None:
    words = (*NETWORKS[network], *WORDS[4:], *TINY, f"optim.second={second}", "optim.period=3")
    whole = goes_on(tmp_path, *words, "optim.steps=8", stop_at=5)
    losses = table(whole, "evals").query("split == 'train'")["loss"]
    assert losses.notna().all() and losses.nunique() > 1


@pytest.mark.usefixtures("made_images")
def test_a_scaled_network_with_alpha_1_is_updated_as_itself(tmp_path: Path) -> None:
    words = (*WORDS, *TINY, "optim.second=batch", "optim.period=3", "optim.steps=8")
    scaled = train(tmp_path, *words, "transform=alpha_scale", "transform.alpha=1")
    for w, plain in zip(weights(scaled), weights(train(tmp_path, *words)), strict=True):
        torch.testing.assert_close(w, plain, rtol=1e-3, atol=1e-5)


def weights(run: Path) -> list[Tensor]:
    return [*torch.load(run / "weights.pt").values()]


@pytest.mark.usefixtures("made_images")
def test_what_it_cannot_divide_is_refused_in_one_line() -> None:
    short = [*WORDS[4:], *TINY, "optim.steps=2"]
    with pytest.raises(UserError, match="layer norm1 is a BatchNorm2d; expected weights of linear"):
        composed(["data=cifar10", "model=resnet18", "model.base=2", *short])
    with pytest.raises(UserError, match="transform=linearise has no forward through layers"):
        composed([*WORDS[:4], *short, "transform=linearise"])
    with pytest.raises(UserError, match=r"probe\.complexity takes gradients of the forward"):
        composed([*WORDS[:4], *short, "probe=[complexity]", "probe.complexity.batch=minibatch"])


class Aside(nn.Module):
    """A network that runs a second head, of a layer that the loss does not see."""

    def __init__(self, model: nn.Sequential, aside: nn.Module) -> None:
        super().__init__()
        self.model, self.aside = model, aside

    def forward(self, x: Tensor) -> Tensor:
        self.aside(x[:, None])
        outputs: Tensor = self.model(x)
        return outputs


@pytest.mark.parametrize(
    "aside", [nn.Linear(4, 2), nn.Linear(4, 2, bias=False), nn.Conv1d(1, 2, 2)]
)
@pytest.mark.parametrize("damps", list(Damps))
@pytest.mark.parametrize("second", list(Second))
def test_a_layer_without_part_in_the_loss_is_left_alone(
    second: Second, damps: Damps, aside: nn.Module
) -> None:
    options = Kfac(second=second, damps=damps, period=PERIOD, damping=DAMPING, sua=True)
    alone, both = net(), Aside(net(), aside.double())
    updates = KfacUpdate(alone, options), KfacUpdate(both, options)
    for step in range(PERIOD + 2):
        expected = step_of(updates[0], alone, step)
        found = step_of(updates[1], both, step)
        for change, own in zip(found, expected, strict=False):
            torch.testing.assert_close(change, own)
        assert not any(change.any() for change in found[len(expected) :])
        for update in updates:
            update.apply(LR)
        if step == 0:  # what is kept over a kill has these layers as well
            updates[1].restore(updates[1].state())


def test_a_weight_that_is_used_twice_is_refused() -> None:
    layer = nn.Linear(3, 3).double()
    model = nn.Sequential(nn.Linear(4, 3).double(), layer, nn.Sigmoid(), layer)
    with pytest.raises(UserError, match="a weight is used twice"):
        step_of(KfacUpdate(model, Kfac()), model, 0)


@pytest.mark.usefixtures("made_images")
def test_without_factors_a_run_has_diverged(tmp_path: Path) -> None:
    words = (*WORDS, *TINY, "optim.steps=6", "optim.lr=1e25", "optim.period=1")
    with pytest.raises(RunFailed, match=r"no factors of the Fisher matrix|the loss is not finite"):
        ntkexp.run(None, list(words), runs=tmp_path)
    (status,) = tmp_path.rglob("status.json")
    assert "traceback" not in json.loads(status.read_text())
