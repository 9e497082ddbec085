"""A data set says before it is loaded which subsets its examples have."""

from __future__ import annotations

import pytest
import torch
from omegaconf import OmegaConf

from ntkexp import components
from ntkexp.data.base import Data
from tests.tiny_runs import composed

# Those that need files, or another run.
OTHERS = {"celeba", "waterbirds", "patched_cifar", "digits_on_characters", "scored_mnist"} | {
    *("scored_cifar10", "eigenfunctions", "linear_separable", "fitted_digits", "petals")
}
WITH_OPTIONS = [
    ["data=mnist", "data.noise=0.5"],
    ["data=mnist", "data.difficult=kmnist", "data.difficult_examples=5"],
    ["data=cifar10", "data.difficult=random_labels", "data.difficult_examples=5"],
    ["data=quadratic_example", "data.example=2"],
]
PLAIN = [[f"data={name}"] for name in components.names("data") if name not in OTHERS]


@pytest.mark.usefixtures("made_images")
@pytest.mark.parametrize("words", PLAIN + WITH_OPTIONS, ids=" ".join)
def test_the_subsets_are_those_of_the_examples(words: list[str]) -> None:
    data = OmegaConf.to_object(composed([*words, "model=mlp", "scale=tiny"]).data)
    assert isinstance(data, Data)
    there = data.build(0, torch.device("cpu"), progress=False).train.subsets()
    assert data.subsets() == there.keys() - {"all"}
