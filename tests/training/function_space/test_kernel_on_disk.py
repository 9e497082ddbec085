"""Function space with its kernel in a file is function space: the same numbers up to rounding."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf

from ntkexp.config import TrainConfig
from ntkexp.errors import UserError
from ntkexp.training import experiment
from ntkexp.training.function_space import frozen_kernels, routes, row_file
from ntkexp.training.supervised import Supervised
from tests.tiny_runs import assert_agree, assert_same_files, composed, prepared, table, train
from tests.training.function_space.test_function_space import (
    CASES,
    MEMBERS,
    ROUNDING,
    WORDS,
    advanced,
)

ON_DISK = "transform.route=disk"


@pytest.fixture(autouse=True)
def several_blocks(monkeypatch: pytest.MonkeyPatch, made_images: None) -> None:
    monkeypatch.setattr(row_file, "BLOCK_BYTES", 2**16)


@pytest.mark.parametrize("case", ["full batch", "from zero", "one logit"])
def test_updates_and_evaluations_are_those_of_the_kernel_in_memory(
    case: str, tmp_path: Path
) -> None:
    words = (*CASES[case], f"paths.outputs={tmp_path}")
    there, expected = advanced(words, "function")
    here, losses = advanced(words, "disk")
    np.testing.assert_allclose(losses, expected, rtol=1e-10)
    assert abs(expected[-1] - expected[0]) > 1e-3
    for split in ("train", "test"):
        mine, theirs = here.learner.evaluate(split), there.learner.evaluate(split)
        np.testing.assert_allclose(mine["all"], theirs["all"], rtol=1e-10)
    for name, weight in here.learner.weights().items():
        torch.testing.assert_close(weight, there.learner.weights()[name], rtol=1e-10, atol=1e-12)


def kernels(outputs: Path) -> list[Path]:
    return sorted((outputs / ".kernels").glob("*.npy"))


def test_a_run_leaves_the_same_tables_and_its_kernel_as_it_was(tmp_path: Path) -> None:
    memory = train(tmp_path / "memory", *WORDS, "transform.route=function")
    disk = train(tmp_path / "disk", *WORDS, ON_DISK)
    assert disk.name == memory.name
    for name in ("complexity", "evals", "events", "spectrum", "steps"):
        assert_agree(table(disk, name), table(memory, name), *ROUNDING)
    [file] = kernels(tmp_path / "disk")
    written = file.read_bytes()
    train(tmp_path / "disk", *WORDS, ON_DISK, "optim.lr=0.02")
    assert kernels(tmp_path / "disk") == [file]
    assert file.read_bytes() == written


@pytest.mark.parametrize("stop_at", [9])
def test_it_goes_on_where_it_was_cut_short_and_by_its_route(stop_at: int, tmp_path: Path) -> None:
    whole = train(tmp_path / "whole", *WORDS, ON_DISK)
    train(tmp_path / "cut", *WORDS, ON_DISK, stop_at=stop_at)
    assert_same_files(whole, train(tmp_path / "cut", *WORDS, "transform.route=forward"))


def test_a_kernel_that_was_cut_short_is_taken_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks, most = [0], 4

    def counting(opened: int) -> None:
        os.fsync(opened)
        blocks[-1] += 1
        if blocks[-1] == most:
            raise KeyboardInterrupt

    monkeypatch.setattr(row_file, "os", SimpleNamespace(fsync=counting, fstat=os.fstat))
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "cut", *WORDS, ON_DISK)
    assert not kernels(tmp_path / "cut")
    blocks, most = [0], 1000
    cut = train(tmp_path / "cut", *WORDS, ON_DISK)
    blocks.append(0)
    whole = train(tmp_path / "whole", *WORDS, ON_DISK)
    assert blocks[0] == blocks[1] - 3 > 1
    assert (cut / "steps.parquet").read_bytes() == (whole / "steps.parquet").read_bytes()


def test_a_kernel_of_other_code_is_refused(tmp_path: Path) -> None:
    train(tmp_path, *WORDS, ON_DISK)
    [file] = kernels(tmp_path)
    np.save(file, 2 * np.load(file))
    frozen_kernels._IN_MEMORY.clear()
    with pytest.raises(UserError, match=rf"{file.name}: is the kernel of another function"):
        train(tmp_path, *WORDS, ON_DISK, "optim.lr=0.02")


def test_many_at_once_share_the_kernels_on_disk(tmp_path: Path) -> None:
    words = (*WORDS, "optim.steps=25", "probe=[spectrum]", MEMBERS["both"])
    memory = train(tmp_path / "memory", *words)
    disk = train(tmp_path / "disk", *words, ON_DISK)
    for name in ("steps", "evals", "spectrum"):
        assert_agree(table(disk, name), table(memory, name), *ROUNDING)
    assert len(kernels(tmp_path / "disk")) == table(disk, "members")["seed"].nunique() == 2


def chosen(outputs: Path, *words: str) -> tuple[str, dict[str, object]]:
    config = composed([*WORDS, "probe=[]", f"paths.outputs={outputs}", *words])
    ready = prepared(config)
    assert isinstance(ready.work, Supervised)
    return ready.work.learner.route, dict(ready.about["route"])


def test_what_exceeds_memory_goes_to_disk_where_many_share_it_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert chosen(tmp_path, "optim.steps=100000")[0] == "function"
    monkeypatch.setattr(routes, "available_bytes", lambda: 1000)
    route, about = chosen(tmp_path, "optim.steps=100000")
    assert (route, about["taken"]) == ("network", "forward")
    assert "the kernels need" in str(about["because"])
    config = OmegaConf.to_object(composed([*WORDS, "probe=[]", f"paths.outputs={tmp_path}"]))
    assert isinstance(config, TrainConfig)
    member = experiment.prepare(config, one_of_many=True)
    assert dict(member.about["route"])["taken"] == "disk"
    assert not list(tmp_path.iterdir())


def test_what_does_not_fit_is_refused_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "available_bytes", lambda: 1000)
    monkeypatch.setattr(routes, "SHARE_OF_DISK", 0.0)
    for word, what in (("function", "of memory"), ("disk", "of disk")):
        with pytest.raises(UserError, match=rf"^transform.route={word}: the kernels need .*{what}"):
            train(tmp_path, *WORDS, f"transform.route={word}")
    with pytest.raises(UserError, match=r"transform\.route=disk: optim=adam"):
        train(tmp_path, *WORDS, "optim=adam", ON_DISK)
    assert not list(tmp_path.iterdir())
