"""A table that is used for words and for logits: exact, in pieces, and never as whole gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from ntkexp.tangent import TangentFeatures, average_features, tangent_diagonal, tangent_trace
from ntkexp.tangent import factors as factors_module
from ntkexp.tangent.factors import Tied
from tests.tangent.dense_jacobian import distance, jacobian, layer_kernels

WORDS, WIDTH, LENGTH = 11, 3, 5


class Language(nn.Module):
    """Logits of the next word after every word, or the loss of each sentence."""

    def __init__(self, padding: int | None = None, losses: bool = True) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH, padding_idx=padding)
        self.mix, self.losses = nn.Linear(WIDTH, WIDTH), losses

    def forward(self, words: Tensor) -> Tensor:
        hidden = torch.tanh(self.mix(self.embed(words)).cumsum(1))
        logits = hidden @ self.embed.weight.t()
        if not self.losses:
            return logits[:, -1]
        after = words.roll(-1, 1)
        return functional.cross_entropy(logits.mT, after, reduction="none").sum(1)


@pytest.fixture(params=["losses", "logits", "padding"])
def language(request: pytest.FixtureRequest) -> tuple[nn.Module, Tensor]:
    torch.manual_seed(0)
    net = Language(padding=2 if request.param == "padding" else None)
    net.losses = request.param != "logits"
    nn.init.normal_(net.embed.weight)
    words = torch.randint(0, WORDS, (6, LENGTH))
    words[:, 1] = 2
    return net.double(), words


@pytest.fixture(params=[1, 2**20], ids=["row by row", "at once"])
def _pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factors_module, "CPU_BYTES", request.param)


@pytest.mark.usefixtures("_pieces")
def test_kernels_traces_and_diagonals_are_those_of_autograd(
    language: tuple[nn.Module, Tensor],
) -> None:
    net, words = language
    rows = jacobian(net, words)
    truth = layer_kernels(rows)
    total = torch.stack([*truth.values()]).sum(0)
    features = TangentFeatures(net)
    table = features.factors(words).layers["embed"]["embed.weight"]
    assert isinstance(table, Tied)
    torch.testing.assert_close(table.jacobian().flatten(0, 1), rows["embed.weight"])
    for kernel in (features.kernel(words), TangentFeatures(net, budget_bytes=4000).kernel(words)):
        assert kernel.fallback == []
        assert distance(kernel.gram, total) < 1e-12
        assert distance(kernel.layers["embed"], truth["embed"]) < 1e-12
    split = 2 * len(total) // len(words)
    assert distance(features.kernel(words[:2], words[2:]).gram, total[:split, split:]) < 1e-12
    k = len(total) // len(words)
    over_outputs = total.view(6, k, 6, k).diagonal(dim1=1, dim2=3).sum(2)
    assert distance(features.kernel(words, summed=True).gram, over_outputs) < 1e-12
    torch.testing.assert_close(tangent_trace(net, words), total.trace())
    torch.testing.assert_close(tangent_diagonal(net, words).flatten(), total.diagonal())


def test_average_features_move_the_outputs_as_the_weights_do(
    language: tuple[nn.Module, Tensor],
) -> None:
    net, words = language
    start = {name: p.detach() + 0.1 * torch.randn_like(p) for name, p in net.named_parameters()}
    if net.embed.padding_idx is not None:  # what the network makes of that row has no gradient
        start["embed.weight"][2] = net.embed.weight[2].detach()
    assert average_features(net, start, words, points=20, rule="midpoint").error("midpoint") < 1e-3


def test_one_point_of_a_path_is_the_kernel_there(language: tuple[nn.Module, Tensor]) -> None:
    net, words = language
    start = {name: p.detach().clone() for name, p in net.named_parameters()}
    average = average_features(net, start, words, points=1, rule="midpoint", compared=())
    torch.testing.assert_close(average.kernel.gram, TangentFeatures(net).kernel(words).gram)
