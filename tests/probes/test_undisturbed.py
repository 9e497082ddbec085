"""Looking at a network does not change what becomes of it, and neither does an interruption."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch

from tests.tiny_runs import TINY, assert_same_files, train

pytestmark = pytest.mark.usefixtures("made_images")

NETS = {
    "mlp": ("model=mlp", "data=mnist", "model.depth=2", "model.width=9"),
    "vgg": ("model=vgg11", "data=cifar10", "model.base=2"),
    "resnet": ("model=resnet18", "data=cifar10", "model.base=2"),
}
PROBES = {
    "mlp": "probe=[spectrum,alignment,complexity,measures,directions]",
    "vgg": "probe=[spectrum,alignment,complexity,measures,directions]",
    # Batch normalisation: measures of weights alone refuse it.
    "resnet": "probe=[spectrum,alignment,complexity,directions]",
}
MINIBATCH = "probe.complexity.batch=minibatch"
SHORT = ("optim.steps=12", "probing.growth=1.5")


# (network, words beside its probes) of runs that are watched in different ways.
WATCHED = [
    *((net, ()) for net in NETS),
    *((net, (MINIBATCH,)) for net in ("mlp", "vgg")),
    *((net, ("probe.complexity.every=5",)) for net in ("mlp", "vgg")),
]


def weights(run: Path) -> dict[str, torch.Tensor]:
    loaded: dict[str, torch.Tensor] = torch.load(run / "weights.pt", weights_only=True)
    return loaded


def probed(net: str, *words: str) -> tuple[str, ...]:
    return (*TINY, *NETS[net], PROBES[net], "++probe.directions.count=2", *SHORT, *words)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The folder of the run of these words, which is trained when it is first asked for."""
    outputs = tmp_path_factory.mktemp("trained")

    @cache
    def run(*words: str) -> Path:
        torch.manual_seed(3)
        before = torch.get_rng_state()
        folder = train(outputs, *words)
        assert torch.equal(torch.get_rng_state(), before)
        return folder

    return run


@pytest.mark.parametrize(("net", "words"), WATCHED, ids=str)
def test_a_probed_run_ends_in_the_same_bits_as_one_without_probes(
    trained: Callable[..., Path], net: str, words: tuple[str, ...]
) -> None:
    alone = weights(trained(*TINY, *NETS[net], *SHORT, "probe=[]"))
    seen = weights(trained(*probed(net, *words)))
    assert alone.keys() == seen.keys()
    assert all(torch.equal(alone[name], seen[name]) for name in alone)


@pytest.mark.parametrize(("net", "words"), WATCHED[:5], ids=str)
def test_an_interrupted_run_writes_the_same_files(
    trained: Callable[..., Path], tmp_path: Path, net: str, words: tuple[str, ...]
) -> None:
    train(tmp_path, *probed(net, *words), stop_at=7)
    assert_same_files(trained(*probed(net, *words)), train(tmp_path, *probed(net, *words)))
