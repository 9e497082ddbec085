"""Looking at a network does not change what becomes of it, and neither does an interruption."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.tiny_runs import TINY, train

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


def weights(run: Path) -> dict[str, torch.Tensor]:
    loaded: dict[str, torch.Tensor] = torch.load(run / "weights.pt", weights_only=True)
    return loaded


def probed(net: str, *words: str) -> tuple[str, ...]:
    return (*TINY, *NETS[net], PROBES[net], "++probe.directions.count=2", *SHORT, *words)


@pytest.mark.parametrize("net", NETS)
def test_a_probed_run_ends_in_the_same_bits_as_one_without_probes(tmp_path: Path, net: str) -> None:
    torch.manual_seed(3)
    before = torch.get_rng_state()
    alone = weights(train(tmp_path, *TINY, *NETS[net], *SHORT, "probe=[]"))
    seen = weights(train(tmp_path, *probed(net)))
    assert torch.equal(torch.get_rng_state(), before)
    assert alone.keys() == seen.keys()
    assert all(torch.equal(alone[name], seen[name]) for name in alone)


@pytest.mark.parametrize("net", ["mlp", "vgg"])
@pytest.mark.parametrize("words", [(MINIBATCH,), ("probe.complexity.every=5",)], ids=str)
def test_a_minibatch_watched_or_not_is_the_same_update(
    tmp_path: Path, net: str, words: tuple[str, ...]
) -> None:
    alone = weights(train(tmp_path, *TINY, *NETS[net], *SHORT, "probe=[]"))
    seen = weights(train(tmp_path, *probed(net, *words)))
    assert all(torch.equal(alone[name], seen[name]) for name in alone)


@pytest.mark.parametrize(
    ("net", "words"),
    [*((net, ()) for net in NETS), *((net, (MINIBATCH,)) for net in ("mlp", "vgg"))],
    ids=str,
)
def test_an_interrupted_run_writes_the_same_files(
    tmp_path: Path, net: str, words: tuple[str, ...]
) -> None:
    words = probed(net, *words)
    whole = train(tmp_path / "whole", *words)
    train(tmp_path / "broken", *words, stop_at=7)
    broken = train(tmp_path / "broken", *words)
    files = [*sorted(whole.glob("*.parquet")), whole / "weights.pt"]
    assert len(files) > 5
    for file in files:
        assert file.read_bytes() == (broken / file.name).read_bytes(), file.name
