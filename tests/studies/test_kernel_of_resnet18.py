"""The kernel of a whole ResNet18 on photographs, by two workers one of which is killed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
import torch

import ntkexp.results
from ntkexp import models
from ntkexp.data.cifar10 import Cifar10
from ntkexp.models.resnet18 import Resnet18
from ntkexp.tangent import leading_eigenpairs, tangent_kernel
from tests.conftest import Start

IMAGES, ROWS = 1000, 100
SWEEP = (
    "study", "-m", "+exp=kernel_rows", "study.split=train", f"study.data.train_examples={IMAGES}",
    f"study.rows={ROWS}", f"study.block=range(0,{IMAGES // ROWS})", "device=cpu",
    "launcher.jobs=2", "launcher.threads=1",
)  # fmt: skip


def jobs_of(process: int) -> list[int]:
    children = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(child) for child in children.split()]


@pytest.mark.on_demand
def test_ten_eigenvalues_are_those_of_the_engines_own_kernel(
    tmp_path: Path, start: Start, real_images: Path
) -> None:
    outputs = tmp_path / "outputs" / "kernel_rows"
    first = start(*SWEEP)
    while not [*outputs.glob("*/rows.npy")]:
        assert first.poll() is None
        time.sleep(0.1)
    os.kill(jobs_of(first.pid)[-1], signal.SIGKILL)
    assert first.wait() == 1
    second = start(*SWEEP)
    assert second.wait() == 0
    found = leading_eigenpairs(ntkexp.results.kernel(outputs), 10).values

    data = Cifar10(train_examples=IMAGES).build(0, torch.device("cpu"), progress=False)
    network = models.build(Resnet18(), (3, 32, 32), 1, seed=0).eval()
    gram = tangent_kernel(network, data.train.inputs, layers=False).gram
    expected = torch.linalg.eigvalsh(gram.double()).flip(0)[:10]
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=0)
