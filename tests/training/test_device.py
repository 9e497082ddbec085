"""The device a user asks for, and the precision that goes with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from ntkexp import machine
from ntkexp.errors import UserError
from ntkexp.execution.process import as_found
from ntkexp.training import device as devices

CPU = torch.device("cpu")


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


@pytest.fixture
def built_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")


@pytest.fixture
def precision() -> Iterator[None]:
    with as_found():
        yield


@pytest.mark.usefixtures("two_gpus")
def test_a_number_that_no_gpu_has_is_refused() -> None:
    assert devices.resolve("cuda:1") == torch.device("cuda:1")
    with pytest.raises(UserError, match="device=cuda:2: no such device here; expected cuda:0 to"):
        devices.resolve("cuda:2")


def test_a_job_computes_on_the_one_gpu_that_its_sweep_gave_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    monkeypatch.setattr(machine, "_given", False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(machine.visible_gpus()))
    (chosen,) = machine.gpus_for("cuda:1")
    machine.give(chosen)
    assert devices.resolve("cuda:1") == torch.device("cuda")


@pytest.mark.usefixtures("built_without")
def test_a_build_without_cuda_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match=r"this PyTorch .* is built without CUDA; expected auto or"):
        devices.resolve("cuda")
    assert devices.resolve("auto") == CPU
    assert "is built without CUDA" in capsys.readouterr().err


@pytest.mark.usefixtures("built_without")
def test_the_cpu_of_a_machine_without_a_gpu_needs_no_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert devices.resolve("auto") == CPU
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("precision")
@pytest.mark.parametrize("tf32", [True, False])
def test_the_precision_that_is_set_is_written_down_and_networks_may_look_at_it(tf32: bool) -> None:
    devices.set_precision(CPU, tf32=tf32, deterministic=False)
    assert devices.facts(CPU)["tf32"] is tf32
    with torch.backends.cudnn.flags(enabled=False):
        assert not torch.backends.cudnn.enabled


@pytest.mark.usefixtures("precision")
def test_tf32_of_convolutions_alone_is_written_down() -> None:
    devices.set_precision(CPU, tf32=False, deterministic=False)
    torch.backends.cudnn.allow_tf32 = True  # as PyTorch has it when it is loaded
    assert devices.facts(CPU)["tf32"]


@pytest.mark.usefixtures("precision")
def test_on_a_cpu_deterministic_changes_nothing_of_torch() -> None:
    devices.set_precision(CPU, tf32=False, deterministic=True)
    assert not torch.are_deterministic_algorithms_enabled()
    assert devices.facts(CPU)["deterministic"]


@pytest.mark.usefixtures("precision")
def test_an_amd_build_is_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.version, "hip", "6.2")
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "MI300X")
    facts: dict[str, Any] = devices.facts(torch.device("cuda"))
    assert (facts["gpu"], facts["hip"]) == ("MI300X", "6.2")
