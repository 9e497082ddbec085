"""scale=small agrees with the checks: for every component, every experiment, and what it needs."""

from __future__ import annotations

import pytest
from omegaconf import DictConfig, OmegaConf

from ntkexp import components
from ntkexp.components import KINDS
from ntkexp.compose.finalise import finalise
from ntkexp.config import TrainConfig
from ntkexp.experiments import Experiment, experiments
from ntkexp.training.experiment import build_probes
from tests.tiny_runs import composer

LIMITED = [
    (kind.group, name)
    for kind in KINDS
    for name in components.names(kind.group)
    if components.find(kind.group, name).small
]
# What some components cannot do without.
BESIDE = {
    "model": ["data=cifar10"],
    "torch": ["optim.of=AdamW"],
    "eigenpairs": ["+model@study.network=mlp"],
    "anisotropy_directions": ["+model@study.network=lenet5"],
    "linear_separable": ["data.directions.run=linearised/directions_lenet"],
    "scored_mnist": ["data.score.run=lazy/c_scores"],
    "eigenfunctions": ["data.pairs.run=linearised/pairs_mlp"],
    "scored_cifar10": ["data.score.run=lazy/c_scores_cifar"],
}


def small(command: str, *words: str) -> DictConfig:
    """The final config of a command at scale=small; the runs that it needs are checked as well."""
    config = composer(command).compose([*words, "scale=small"])
    finalise(config, frozenset({"scale"}))
    return config


@pytest.mark.parametrize(("group", "name"), LIMITED)
def test_the_limits_of_a_component_pass_its_own_check(group: str, name: str) -> None:
    beside = [*BESIDE.get(group, []), *BESIDE.get(name, [])]
    command = "study" if group == "study" else "train"
    config = small(command, f"{group}={name}", *beside)
    for option, limit in components.find(group, name).small.items():
        value = config[group][option]
        assert value is None or value <= limit


@pytest.mark.on_demand
@pytest.mark.parametrize("experiment", experiments(), ids=lambda experiment: experiment.name)
def test_an_experiment_and_what_it_needs_is_accepted_small(experiment: Experiment) -> None:
    config = small(experiment.command, f"+exp={experiment.name}")
    assert config.name == experiment.name
    typed = OmegaConf.to_object(config)
    assert not isinstance(typed, TrainConfig) or build_probes(typed)
