"""What small makes of an experiment, the released recipe, and values that no run can have."""

from __future__ import annotations

import pytest
from omegaconf import DictConfig

from ntkexp.compose.check import shrink
from ntkexp.config import ProbingConfig
from ntkexp.data.cifar10 import Cifar10
from ntkexp.models.vgg import Vgg
from tests.tiny_runs import composer


def composed(*words: str) -> DictConfig:
    """As Hydra has it, before it is shrunk or checked."""
    return composer("train").compose(words)


def test_small_caps_what_is_large_and_leaves_the_rest() -> None:
    config = composed("+exp=vgg19_noise50", "scale=small")
    shrink(config, typed=())
    assert config.model.base == Vgg.small["base"]
    assert config.data.train_examples == Cifar10.small["train_examples"]
    assert (config.data.noise, config.optim.lr, config.model.depth) == (0.5, 0.01, 19)

    disk = composed("+exp=disk", "scale=small")
    shrink(disk, typed=())
    assert disk.data.train_examples == 500


def test_a_limit_that_is_typed_takes_the_place_of_a_components_own() -> None:
    config = composed("+exp=mlp_mnist", "scale=small", "scale.width=20", "scale.train_examples=50")
    shrink(config, typed={"scale.width", "scale.train_examples"})
    assert (config.model.width, config.data.train_examples) == (20, 50)
    assert config.data.test_examples == Cifar10.small["test_examples"]

    config = composed("+exp=easy_difficult_noise", "scale.train_examples=50")
    shrink(config, typed={"scale.train_examples"})
    assert (config.data.difficult_examples, config.model.width) == (5, 80)


def test_small_leaves_alone_what_the_user_typed() -> None:
    config = composed("+exp=vgg19_clean", "scale=small", "model.base=32")
    shrink(config, typed={"model.base"})
    assert config.model.base == 32


def test_the_released_recipe_differs_from_the_paper_where_the_spec_says() -> None:
    paper = composed("+exp=vgg19_clean")
    released = composed("+exp=vgg19_clean", "recipe=released")
    assert (paper.optim.batch_size, paper.optim.weight_decay, paper.data.augment) == (
        100,
        0,
        "none",
    )
    assert (released.optim.batch_size, released.optim.weight_decay) == (128, 5e-4)
    assert released.data.augment == "crop_flip"
    assert composed("+exp=mlp_mnist", "recipe=released").data.augment == "none"


@pytest.mark.parametrize("word", ["launcher.sbatch={qos: low}", "launcher.sbatch.qos=low"])
def test_further_options_of_sbatch_have_any_name(word: str) -> None:
    assert composed("+exp=disk", "launcher=slurm", word).launcher.sbatch == {"qos": "low"}


def test_a_list_belongs_to_one_config_alone() -> None:
    ProbingConfig().steps.append(3)
    assert 3 not in ProbingConfig().steps
