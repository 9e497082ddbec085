"""The linearised network is f_0 + J_0 (theta - theta_0), in its values, gradients and training."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev

from ntkexp import models
from ntkexp.data import Split
from ntkexp.errors import UserError
from ntkexp.models.base import Init, Model
from ntkexp.models.mlp import Mlp
from ntkexp.models.resnet18 import Norm, Resnet18
from ntkexp.models.vgg import Vgg
from ntkexp.transforms.alpha_scale import Offset
from ntkexp.transforms.linearise import BatchNorm, Linearise, Linearised
from tests.tiny_runs import TINY, goes_on, table, train

pytestmark = pytest.mark.usefixtures("made_images")

NET = ("model=mlp", "data=mnist", "model.depth=2", "model.width=16", "model.init=default")
WORDS = (*TINY, *NET, "optim.steps=12", "optim.lr=0.02", "transform=linearise")

CASES: dict[str, tuple[Model, tuple[int, ...], BatchNorm]] = {
    "mlp": (Mlp(depth=3, width=7, init=Init.default), (4,), BatchNorm.train),
    "vgg": (Vgg(depth=11, base=1), (3, 32, 32), BatchNorm.train),
    "resnet without norm": (
        Resnet18(base=1, norm=Norm.none, init=Init.default),
        (3, 32, 32),
        BatchNorm.train,
    ),
    "resnet with frozen norm": (Resnet18(base=1), (3, 32, 32), BatchNorm.eval),
}


def moved(network: nn.Module) -> dict[str, Tensor]:
    """Move the weights somewhere; by how much."""
    stream = torch.Generator().manual_seed(5)
    change = {}
    with torch.no_grad():
        for name, w in network.named_parameters():
            change[name] = 0.1 * torch.randn(w.shape, generator=stream, dtype=w.dtype)
            w += change[name]
    return change


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("offset", Offset)
def test_values_and_gradients_are_those_of_the_explicit_jacobian(case: str, offset: Offset) -> None:
    model, shape, batch_norm = CASES[case]
    network = models.build(model, shape, 3, seed=2).double()
    stream = torch.Generator().manual_seed(1)
    inputs = torch.randn(3, *shape, generator=stream, dtype=torch.float64)
    targets = torch.tensor([0, 2, 1])
    transform = Linearise(offset=offset, batch_norm=batch_norm)
    transformed = transform.build(network, Split.clean(inputs, targets))
    assert transformed.kernel is not None
    first = {name: w.detach() for name, w in transformed.kernel.named_parameters()}
    start = transformed.kernel(inputs).detach()
    network.eval()

    def outputs_of(weights: dict[str, Tensor]) -> Tensor:
        outputs: Tensor = functional_call(network, weights, (inputs,))
        return outputs

    jacobian = jacrev(outputs_of, chunk_size=1)(first)
    change = moved(network)
    flat = torch.cat([jacobian[name].flatten(2) for name in first], dim=2)
    along = torch.cat([change[name].flatten() for name in first])
    expected = flat @ along + start * (offset is Offset.f0)
    outputs = transformed.module(inputs)
    torch.testing.assert_close(outputs, expected, rtol=1e-9, atol=1e-11)

    loss = nn.functional.cross_entropy(outputs, targets)
    gradients = torch.autograd.grad(loss, list(transformed.module.parameters()))
    (slopes,) = torch.autograd.grad(
        nn.functional.cross_entropy(at := expected.detach().requires_grad_(), targets), at
    )
    together = torch.cat([gradient.flatten() for gradient in gradients])
    wanted = torch.einsum("ncp,nc->p", flat, slopes)
    torch.testing.assert_close(together, wanted, rtol=1e-9, atol=1e-11)


def test_its_kernel_stays_that_of_the_start(tmp_path: Path) -> None:
    probes = "probe=[spectrum,alignment,complexity]"
    run = train(tmp_path, *WORDS, probes, "probe.complexity.mode=exact")
    spectrum = table(run, "spectrum")
    kept = spectrum.pivot(index="step", columns=["split", "rank"], values="eigenvalue").to_numpy()
    assert len(kept) > 3
    np.testing.assert_array_equal(kept, kept[[0] * len(kept)])
    traces = table(run, "complexity")["trace"]
    centred = spectrum.query("split == 'train' and step == 0")["eigenvalue"].sum()
    assert (traces == traces[0]).all()
    assert traces[0] > centred


@pytest.mark.parametrize("optim", ["sgd", "adam"])
def test_it_goes_on_where_it_was_cut_short(optim: str, tmp_path: Path) -> None:
    words = (*WORDS, f"optim={optim}", "probe=[spectrum]", "optim.schedule=cosine")
    goes_on(tmp_path, *words, stop_at=5)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["data=cifar10", "model=resnet18"], "transform.batch_norm=train: .* model.norm=none"),
        (["probe=[measures]"], "probe.measures: looks at layers"),
        (
            ["probe=[complexity]", "probe.complexity.batch=minibatch"],
            "probe.complexity: looks at the forward",
        ),
        (
            ["members={seed: [1, 2]}", "transform.route=forward"],
            "members: transform=linearise by forward mode",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(words: list[str], said: str, tmp_path: Path) -> None:
    base = [*TINY, "data=mnist", "optim.steps=2", "transform=linearise", "model=mlp"]
    taken = {word.split("=")[0] for word in words}
    with pytest.raises(UserError, match=said):
        train(tmp_path, *[word for word in base if word.split("=")[0] not in taken], *words)
    assert not list(tmp_path.iterdir())


def test_a_layer_without_forward_mode_is_refused_in_a_line() -> None:
    recurrent = Linearised(nn.LSTM(2, 3))
    with pytest.raises(UserError, match=r"no forward mode .* transform.route=function or factors"):
        recurrent(torch.zeros(4, 1, 2))


def test_pytorchs_own_deprecated_rules_for_dual_numbers_bring_no_warning() -> None:
    """In a process of its own: they are loaded with the first dual number."""
    source = (
        "import torch\n"
        "from ntkexp.transforms.linearise import Linearised\n"
        "Linearised(torch.nn.Linear(2, 1))(torch.ones(3, 2)).sum().backward()\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", source], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
