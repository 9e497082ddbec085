"""What a GPU that is none has free."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ntkexp.errors import UserError
from ntkexp.tangent.memory import default_budget
from ntkexp.training import device as devices
from tests.pretended.cuda import GIB, machine, pretended
from tests.pretended.on_runs import LINEAR, SCORES
from tests.tiny_runs import train

pytestmark = pytest.mark.usefixtures("made_images")


def test_the_budget_counts_what_the_allocator_keeps_for_later_as_free() -> None:
    with pretended() as device:
        first = default_budget(device)
        machine.free, machine.reserved, machine.allocated = 3 * GIB, 7 * GIB, 0
        assert default_budget(device) == first
        machine.allocated = 2 * GIB
        assert default_budget(device) == int(0.6 * 8 * GIB)


def test_function_space_asks_for_the_memory_of_the_gpu(tmp_path: Path) -> None:
    words = (*LINEAR, "transform.route=function", "probe=[]")
    with pretended():
        machine.free = 1000
        with pytest.raises(UserError, match=r"the kernels need .* GiB of memory"):
            train(tmp_path, *words)


def test_a_study_computes_in_full_precision_and_writes_so_down(tmp_path: Path) -> None:
    with pretended() as device:
        torch.backends.cudnn.allow_tf32 = True  # as PyTorch has it when it is loaded
        train(tmp_path, *SCORES, command="study")
        assert not torch.backends.cudnn.allow_tf32
        assert not devices.facts(device)["tf32"]


def test_deterministic_asks_all_libraries_for_it_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    with pretended() as device:
        devices.set_precision(device, tf32=False, deterministic=True)
        assert torch.are_deterministic_algorithms_enabled()
        assert devices.os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
        assert devices.facts(device)["deterministic"]
        devices.set_precision(device, tf32=False, deterministic=False)
        assert not devices.facts(device)["deterministic"]
