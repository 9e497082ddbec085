"""Which GPUs a machine has, told without CUDA."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ntkexp import machine
from ntkexp.errors import UserError
from ntkexp.machine import gpus_for, on_gpu, visible_gpus


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return tmp_path


def file(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_a_machine_without_gpus_has_none(system: Path) -> None:
    assert visible_gpus(system) == []


def test_nvidias_driver_lists_its_gpus(system: Path) -> None:
    for name in ("0000:01:00.0", "0000:02:00.0"):
        file(system / "proc/driver/nvidia/gpus" / name / "information")
    assert visible_gpus(system) == ["0", "1"]


def test_amds_driver_lists_processors_with_the_id_0(system: Path) -> None:
    for node, number in enumerate(("0", "41217", "9301")):
        file(system / f"sys/class/kfd/kfd/topology/nodes/{node}/gpu_id", f"{number}\n")
    assert visible_gpus(system) == ["0", "1"]


def test_in_wsl2_one_gpu_is_assumed_where_cuda_is(system: Path) -> None:
    file(system / "usr/lib/wsl/lib/libcuda.so")
    assert visible_gpus(system) == ["0"]


@pytest.mark.parametrize(
    ("device", "chosen"),
    [("auto", ["4", "6"]), ("cuda", ["4", "6"]), ("cuda:1", ["6"]), ("cpu", [])],
)
def test_the_jobs_of_a_sweep_share_the_gpus_that_were_asked_for(
    device: str, chosen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6")
    assert gpus_for(device) == chosen


def test_a_number_that_no_gpu_has_is_refused_before_the_first_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6")
    with pytest.raises(UserError, match="device=cuda:2: no such device here; expected cuda:0 to"):
        gpus_for("cuda:2")


def test_every_branch_for_gpus_asks_one_function() -> None:
    assert on_gpu(torch.device("cuda:1"))
    assert not on_gpu(torch.device("cpu"))
    package = Path(machine.__file__).parent
    asking = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if any(words in path.read_text() for words in (".is_cuda", 'device.type == "cuda"'))
    }
    # In the first a name is read that the user wrote.
    assert asking <= {"training/device.py", "tangent/independence.py"}
