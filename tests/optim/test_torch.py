"""Any optimiser and any scheduler of PyTorch by its name."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from torch.nn import functional

from ntkexp import models
from ntkexp.data import load
from ntkexp.data.batches import Batches
from ntkexp.data.yin_yang import YinYang
from ntkexp.errors import UserError
from ntkexp.models.mlp import Mlp
from tests.tiny_runs import assert_same_files, composed, identity, train

DATA = ("data=yin_yang", "data.train_examples=30", "data.grid=4", "device=cpu", "progress=false")
WORDS = (
    *("optim=torch", "optim.lr=0.03", "optim.batch_size=10", "optim.steps=9"),
    *(*DATA, "model=mlp", "model.depth=1", "model.width=6", "probe=[]", "optim.stop_loss=null"),
)
ADAMW = ("optim.of=AdamW", "optim.options={betas: [0.8, 0.95], weight_decay: 0.1}")
ONE_CYCLE = (
    *("optim.of=SGD", "optim.options={momentum: 0.9, nesterov: true}"),
    "optim.scheduler=OneCycleLR",
    "optim.scheduler_options={max_lr: 0.2, total_steps: 9}",
)


def by_hand(one_cycle: bool) -> tuple[list[torch.Tensor], list[float]]:
    """The weights and rates of a plain loop of PyTorch."""
    split = load(YinYang(train_examples=30, grid=4), seed=0, device=torch.device("cpu")).train
    net = models.build(Mlp(depth=1, width=6), (2,), 1, seed=0)
    weights = list(net.parameters())
    optimiser: torch.optim.Optimizer
    if one_cycle:
        optimiser = torch.optim.SGD(weights, lr=0.03, momentum=0.9, nesterov=True)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=0.2, total_steps=9)
    else:
        optimiser = torch.optim.AdamW(weights, lr=0.03, betas=(0.8, 0.95), weight_decay=0.1)
    batches, rates = Batches(30, 10, 0, torch.device("cpu")), []
    for step in range(9):
        inputs, targets = batches.take(step, split.inputs, split.targets)
        outputs = net(inputs)[:, 0]
        targets = targets.to(outputs.dtype)
        losses = functional.binary_cross_entropy_with_logits(outputs, targets, reduction="none")
        optimiser.zero_grad()
        losses.mean().backward()
        rates.append(optimiser.param_groups[0]["lr"])
        optimiser.step()
        if one_cycle:
            scheduler.step()
    return [w.detach() for w in weights], rates


@pytest.mark.parametrize("words", [ADAMW, ONE_CYCLE], ids=["adamw", "one cycle"])
def test_it_is_a_plain_loop_bit_for_bit_and_resumes(tmp_path: Path, words: tuple[str, ...]) -> None:
    run = train(tmp_path / "whole", *WORDS, *words)
    weights, rates = by_hand(one_cycle=words is ONE_CYCLE)
    for mine, theirs in zip(torch.load(run / "weights.pt").values(), weights, strict=True):
        assert torch.equal(mine, theirs)
    assert pd.read_parquet(run / "steps.parquet")["lr"].tolist() == pytest.approx(rates)
    for stop_at in (2, 5):
        train(tmp_path / "cut", *WORDS, *words, stop_at=stop_at)
    assert_same_files(run, train(tmp_path / "cut", *WORDS, *words))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("optim.of=LBFGS",), "optim.of=LBFGS: its step asks for closure"),
        (
            ("optim.of=SGD", "optim.scheduler=ReduceLROnPlateau"),
            "optim.scheduler=ReduceLROnPlateau: its step asks for metrics",
        ),
        (("optim.of=Adamw",), "did you mean AdamW"),
        (("optim.of=Adamm",), "torch.optim has no Adamm; did you mean Adam"),
        (("optim.of=nowhere.Sgd",), "No module named 'nowhere'"),
        (("optim.of=torch.nn.Linear",), "is no Optimizer"),
        (("optim.of=SGD", "optim.options={momentun: 1}"), "unexpected keyword argument 'momentun'"),
        (("optim.of=SGD", "optim.options={lr: 1}"), "optim.options.lr: stands twice"),
        (("optim.of=SGD", "optim.scheduler=StepLR"), "optim.scheduler_options={step_size: VALUE}"),
        (
            ("optim.of=SGD", "optim.schedule=cosine", "optim.scheduler=ExponentialLR"),
            "optim.schedule=constant beside it",
        ),
        ((), "optim.of: has no value; give optim.of=VALUE"),
    ],
)
def test_what_cannot_be_is_refused_when_it_is_composed(words: tuple[str, ...], said: str) -> None:
    with pytest.raises(UserError, match=said):
        composed([*WORDS, *words])


def test_what_only_the_own_optimisers_can_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"optim=torch updates one network a run.*members=null"):
        train(tmp_path, *WORDS, *ADAMW, "members={seed: [0, 1]}")
    with pytest.raises(UserError, match="looks at updates"):
        train(tmp_path, *WORDS, *ADAMW, "probe=[complexity]", "probing.examples=5")
    assert not list(tmp_path.rglob("status.json"))


def test_a_class_of_ones_own_by_its_full_name(tmp_path: Path) -> None:
    halving = "optim.scheduler=tests.optim.made_networks.Halving"
    run = train(tmp_path, *WORDS, "optim.of=torch.optim.Adam", halving)
    rates = pd.read_parquet(run / "steps.parquet")["lr"].tolist()
    assert rates == pytest.approx([0.03 * 0.5**step for step in range(9)])


def test_every_option_is_part_of_the_id() -> None:
    every: list[tuple[str, ...]] = [ADAMW, ONE_CYCLE, ("optim.of=AdamW",), ("optim.of=Adam",)]
    every += [(*ADAMW, "optim.options.eps=0.1"), ("optim.of=AdamW", "optim.options.foreach=null")]
    assert len({identity(composed([*WORDS, *words])) for words in every}) == len(every)
