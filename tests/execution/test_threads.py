"""How many threads a run has, and how they wait."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from omegaconf import OmegaConf
from torch.utils.flop_counter import FlopCounterMode

from ntkexp import models
from ntkexp.config import TrainConfig
from ntkexp.execution import threads
from ntkexp.execution.threads import Wanted, by_work, of_life, set_waiting, wanted
from tests.tiny_runs import composed

MILLION = 1_000_000
LIGHT = ("+exp=mlp_mnist",)
HEAVY = ("+exp=vgg19_clean",)


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "cores", lambda: 8)
    monkeypatch.setattr(threads, "_share", None)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)


# The choice


@pytest.mark.parametrize(
    ("work", "cores", "expected"),
    [
        (0, 8, 1),
        (28 * MILLION, 8, 1),
        (50 * MILLION - 1, 8, 1),
        (50 * MILLION, 8, 2),
        (150 * MILLION - 1, 8, 2),
        (150 * MILLION, 8, 3),
        (10**12, 8, 8),
        (10**12, 1, 1),
        (None, 8, 8),
    ],
)
def test_a_thread_more_must_save_what_it_costs(work: int | None, cores: int, expected: int) -> None:
    assert by_work(work, cores) == expected


def test_small_networks_have_one_thread_and_large_ones_all() -> None:
    assert wanted(composed(LIGHT)) == Wanted(1)
    assert wanted(composed(HEAVY)) == Wanted(8)
    assert wanted(composed(("+exp=disk",))).number == 4
    assert wanted(composed(("+exp=supernat",), "study")) == Wanted(8)


def test_members_of_one_run_have_the_threads_of_one_network() -> None:
    """Two threads on a stack of 16 small networks are no quicker than one (docs/measured)."""
    assert wanted(composed((*LIGHT, 'members={seed: "range(16)"}'))) == Wanted(1)


def test_a_single_run_takes_the_user_at_his_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "12,1")
    assert wanted(composed(LIGHT)) == Wanted(12, "OMP_NUM_THREADS=12")
    assert wanted(composed((*LIGHT, "launcher.threads=3"))) == Wanted(3, "launcher.threads=3")
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert wanted(composed(LIGHT)) == Wanted(1)


def test_a_job_of_a_sweep_has_its_share_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    threads.share(2)
    assert wanted(composed(HEAVY)) == Wanted(2)
    assert wanted(composed(LIGHT)) == Wanted(1)
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    assert wanted(composed(LIGHT)) == Wanted(2, "OMP_NUM_THREADS=5")


@pytest.mark.parametrize(
    ("kept", "asked", "number", "told"),
    [
        (None, Wanted(4), 4, None),
        (None, Wanted(4, "OMP_NUM_THREADS=4"), 4, None),
        (2, Wanted(1), 2, None),  # another machine, another choice: nobody asked for it
        (2, Wanted(2, "OMP_NUM_THREADS=2"), 2, None),
        (2, Wanted(1, "OMP_NUM_THREADS=1"), 2, "OMP_NUM_THREADS=1: this run was begun with 2 "),
        (1, Wanted(4, "launcher.threads=4"), 1, "launcher.threads=4: this run was begun with 1 "),
    ],
)
def test_a_run_keeps_the_threads_it_was_begun_with(
    kept: int | None, asked: Wanted, number: int, told: str | None
) -> None:
    used, line = of_life(kept, asked)
    assert used == number
    assert (line or "").startswith(told or "")
    assert (line is None) == (told is None)
    assert "\n" not in (line or "")


# The work of a step

SIZES = [
    ("+exp=disk",),
    ("+exp=disk", "model.depth=1", "model.width=3", "optim.batch_size=70"),
    ("data=kmnist", "optim.steps=1", "data.train_examples=40"),
    ("+exp=easy_difficult_noise", "optim.batch_size=null", "data.train_examples=50"),
    *[
        ("data=cifar10", f"model={net}", "model.base=4", "optim.batch_size=6", "optim.steps=1")
        for net in ("vgg19", "resnet18")
    ],
]


@pytest.mark.parametrize("words", SIZES, ids=[" ".join(words) for words in SIZES])
def test_the_work_of_a_step_is_what_torch_counts(words: tuple[str, ...]) -> None:
    config = composed(words)
    plain = OmegaConf.to_object(config)
    assert isinstance(plain, TrainConfig)
    shape = plain.data.shape()
    assert shape is not None
    assert shape.examples is not None
    batch = min(plain.optim.batch_size or shape.examples, shape.examples)
    model = models.build(plain.model, shape.inputs, shape.outputs, seed=0)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.zeros(2, *shape.inputs))
    # It counts additions, too.
    assert threads.multiplications_of_a_step(config) == 3 * batch * counter.get_total_flops() // 4


@pytest.mark.parametrize(
    ("words", "examples"),
    [
        (("+exp=disk",), 500),
        (("+exp=mlp_mnist",), 60_000),
        (("+exp=easy_difficult_noise",), 11_000),
        (("+exp=vgg19_clean", "data.train_examples=7"), 7),
    ],
    ids=str,
)
def test_the_training_examples_are_known_before_they_are_loaded(
    words: tuple[str, ...], examples: int
) -> None:
    plain = OmegaConf.to_object(composed(words))
    assert isinstance(plain, TrainConfig)
    shape = plain.data.shape()
    assert shape is not None
    assert shape.examples == examples


def test_every_shipped_network_is_known() -> None:
    for net in ("mlp", "vgg16", "resnet20"):  # beside those of SIZES
        work = threads.multiplications_of_a_step(
            composed(("data=cifar10", f"model={net}", "optim.steps=1"))
        )
        assert work is not None
        assert work > 0
    assert threads.multiplications_of_a_step(composed(("+exp=supernat",), "study")) is None


# The cores


@pytest.mark.parametrize("name", ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"])
def test_what_the_user_said_of_waiting_stands(name: str) -> None:
    environment = {name: "something"}
    set_waiting(environment)
    assert environment == {name: "something"}


def test_threads_that_wait_sleep_soon() -> None:
    environment: dict[str, str] = {}
    set_waiting(environment)
    assert environment["OMP_WAIT_POLICY"] == "passive"
    assert 0 < int(environment["GOMP_SPINCOUNT"]) < 10_000


AT_TORCH = """
import builtins, os, sys
real = builtins.__import__
def watched(name, *rest, **options):
    if name.partition(".")[0] == "torch":
        print("torch is imported with", os.environ.get("OMP_WAIT_POLICY"), flush=True)
        os._exit(0)
    return real(name, *rest, **options)
builtins.__import__ = watched
from ntkexp.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_the_command_line_says_so_before_torch_is_loaded(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in threads.WAITING}
    done = subprocess.run(
        [sys.executable, "-c", AT_TORCH, "train", "+exp=disk"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.returncode) == ("torch is imported with passive\n", 0), done.stderr


USED = """
import numpy, torch
from threadpoolctl import threadpool_info
from ntkexp.execution import threads
threads.use(2)
import scipy.linalg
print(torch.get_num_threads(), *sorted({pool["num_threads"] for pool in threadpool_info()}))
"""


def test_one_number_for_torch_numpy_and_scipy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", USED],
        check=True,
        capture_output=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.stdout.split() == [b"2", b"2"]
