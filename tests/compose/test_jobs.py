"""Composing the jobs of a sweep quickly gives what Hydra gives."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from ntkexp.compose import composition
from ntkexp.compose.check import shrink
from ntkexp.compose.composition import Composer
from ntkexp.compose.overrides import typed_keys
from tests.quick_hydra import make_plain
from tests.tiny_runs import identity

SWEEPS = [
    ["+exp=disk", "seed=2", "optim.lr=0.1", "optim.batch_size=null", "scale.steps=${seed}"],
    ["+exp=mlp_mnist", "data.difficult=kmnist", "data.difficult_examples=10", "recipe=released"],
    ["+exp=mlp_mnist", "data=kmnist", "scale=small", "model.width=30"],
    ["+exp=vgg19_clean", "recipe=released", "optim.weight_decay=0"],
    ["+exp=vgg19_clean", "model=resnet18", "model.norm=none", "probe=[spectrum]"],
    ["+exp=disk", "probing.steps=[0,5]", "+probe.eigenfunctions.x=1", "probe.eigenfunctions.x=2"],
    ["+exp=disk", "optim={lr: 0.2, momentum: 0.5}", "optim.lr=0.3"],
    ["+exp=disk", "optim.lr=0.3", "optim={lr: 0.2}", "name='a b'", "about=text with blanks"],
    ["+exp=disk", "~probe.eigenfunctions"],
]


@pytest.fixture(scope="module")
def hydra() -> Iterator[Hydra]:
    composition.register()
    GlobalHydra.instance().clear()
    yield Hydra.create_main_hydra2("ntkexp", create_config_search_path("pkg://ntkexp.configs"))
    GlobalHydra.instance().clear()


@pytest.fixture(scope="module")
def master(hydra: Hydra) -> DictConfig:
    return hydra.compose_config("train", [], run_mode=RunMode.MULTIRUN)


@pytest.mark.parametrize("overrides", SWEEPS, ids=" ".join)
def test_quick_composition_is_that_of_hydra(
    hydra: Hydra, master: DictConfig, overrides: list[str]
) -> None:
    composer = Composer(hydra.config_loader, master)
    with pytest.MonkeyPatch.context() as patch:
        make_plain(patch)
        theirs = hydra.config_loader.load_sweep_config(master, list(overrides))
    OmegaConf.set_struct(theirs, False)
    del theirs["hydra"]
    typed = frozenset(typed_keys(overrides))
    composed = OmegaConf.to_yaml(theirs, resolve=True)
    shrink(theirs, typed)
    for _ in range(2):  # the second time from what was kept of the first
        ours = composer.compose(overrides)
        assert OmegaConf.to_yaml(ours, resolve=True) == composed
        shrink(ours, typed)
        assert identity(ours) == identity(theirs)


@pytest.mark.parametrize("wrong", ["optim.lr=abc", "optim.lrr=1", "data=mnits", "data.noise=1.5x"])
def test_what_is_wrong_is_said_by_hydra(hydra: Hydra, master: DictConfig, wrong: str) -> None:
    composer = Composer(hydra.config_loader, master)
    with pytest.raises(HydraException) as theirs:
        hydra.config_loader.load_sweep_config(master, ["+exp=mlp_mnist", wrong])
    with pytest.raises(HydraException) as ours:
        composer.compose(["+exp=mlp_mnist", wrong])
    assert str(ours.value) == str(theirs.value)
