"""What a stack of networks sees is what each of them would see alone."""

from __future__ import annotations

import pytest
import torch
from omegaconf import OmegaConf

from ntkexp.config import TrainConfig
from ntkexp.training import experiment
from ntkexp.training.learners.stacked_batches import StackedBatches
from ntkexp.training.supervised import Supervised
from tests.tiny_runs import TINY, composed

NET = ("model=mlp", "data=mnist", "model.depth=1", "model.width=3", "probe=[]")
STEPS = ("optim.batch_size=25", "optim.steps=8")
# Members, and whether one copy of the minibatch serves all.
SWEEPS = {
    "seed": (["seed=0", "seed=1"], False),
    "lr": (["optim.lr=0.1", "optim.lr=0.2"], True),
    "noise": (["data.noise=0.5", "data.noise=0"], True),
}


def network(words: list[str]) -> Supervised:
    config = OmegaConf.to_object(composed([*TINY, *NET, *STEPS, *words]))
    assert isinstance(config, TrainConfig)
    work = experiment.prepare(config).work
    assert isinstance(work, Supervised)
    return work


@pytest.mark.usefixtures("made_images")
@pytest.mark.parametrize("axis", SWEEPS)
def test_every_member_sees_its_own_minibatch(axis: str) -> None:
    members, common = SWEEPS[axis]
    works = [network([words]) for words in members]
    batches = StackedBatches([work.learner for work in works])
    # More than two epochs of 60 examples: the last batch of each is smaller.
    for step in range(8):
        inputs, targets = batches.take(step)
        assert (inputs.stride(0) == 0) == common
        for member, alone in enumerate(works):
            own_inputs, own_targets = alone.learner.minibatch(step)
            assert torch.equal(inputs[member], own_inputs)
            assert torch.equal(targets[member], own_targets)
