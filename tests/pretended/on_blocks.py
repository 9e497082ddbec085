"""A block of rows of a kernel, computed on the device and kept by the run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ntkexp.data.mnist import Mnist
from ntkexp.models import build
from ntkexp.models.mlp import Mlp
from ntkexp.tangent import summed_kernel
from tests.pretended.cuda import pretended
from tests.tiny_runs import train


@pytest.mark.usefixtures("made_images")
def test_a_block_of_rows_is_that_of_the_processor(tmp_path: Path) -> None:
    with pretended():
        run = train(
            tmp_path, "study=kernel_rows", "+data@study.data=mnist", "+model@study.network=mlp",
            "study.network.depth=2", "study.network.width=8", "study.data.train_examples=30",
            "study.rows=20", "study.block=1", "study.output=sum", command="study",
        )  # fmt: skip
    data = Mnist(train_examples=30).build(0, torch.device("cpu"), progress=False)
    network, inputs = build(Mlp(depth=2, width=8), (1, 28, 28), 10, 0), data.train.inputs
    truth = summed_kernel(network, inputs[20:], inputs, layers=False).gram.numpy()
    np.testing.assert_allclose(np.load(run / "rows.npy"), truth, rtol=1e-5, atol=1e-3)
