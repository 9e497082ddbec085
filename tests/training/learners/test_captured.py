"""A recorded update does what the plain one does, batch after batch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from ntkexp.optim.sgd import SgdUpdate
from ntkexp.training.learners.captured import WARM_UP, Captured, Replay
from tests.tiny_runs import TINY, train

Work = Callable[[], tuple[Tensor, ...]]


def record_by_hand(work: Work, device: torch.device) -> tuple[tuple[Tensor, ...], Replay]:
    """What a graph does, without a GPU: the same work on the same tensors, results in place."""
    for _ in range(WARM_UP):
        work()
    figures = work()

    def replay() -> None:
        for figure, value in zip(figures, work(), strict=True):
            figure.copy_(value)

    return figures, replay


class Net:
    """Batch norm and momentum: state besides the weights."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
        self.sgd = SgdUpdate(self.model.parameters(), momentum=0.9, weight_decay=1e-3)

    @property
    def state(self) -> list[Tensor]:
        return [*self.model.state_dict().values(), *self.sgd.memory["velocity"]]

    def update(self, inputs: Tensor, targets: Tensor) -> tuple[Tensor, ...]:
        loss = functional.cross_entropy(self.model(inputs), targets)
        loss.backward()
        self.sgd.compute()
        self.sgd.apply(0.1)
        return (loss.detach(),)


def test_replayed_updates_are_the_plain_ones_and_recording_leaves_no_trace() -> None:
    draws = torch.Generator().manual_seed(1)
    batches = [
        (torch.randn(6, 5, generator=draws), torch.randint(3, (6,), generator=draws))
        for _ in range(5)
    ]
    plain, captured = Net(), Net()
    expected = [plain.update(*batch)[0] for batch in batches]
    replayed = Captured(captured.update, captured.state, *batches[0], record=record_by_hand)
    for mine, untouched in zip(captured.state, Net().state, strict=True):
        assert torch.equal(mine, untouched)
    found = [replayed(*batch)[0] for batch in batches]
    assert torch.equal(torch.stack(found), torch.stack(expected))
    for mine, theirs in zip(captured.state, plain.state, strict=True):
        assert torch.equal(mine, theirs)


@pytest.mark.cuda
def test_a_warning_of_a_library_is_no_failure_on_a_gpu() -> None:
    """PyTorch has some of its own there, such as of cuBLAS in the thread of a backward."""
    warnings.warn("Attempting to run cuBLAS, but there was no current CUDA context", stacklevel=1)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.usefixtures("made_images")
def test_on_a_gpu_a_run_with_graphs_ends_where_one_without_does(tmp_path: Path) -> None:
    words = [word for word in TINY if "device" not in word]
    net = ("model=resnet18", "data=cifar10", "model.base=8", "probe=[spectrum,complexity]")
    net += ("probe.complexity.every=5", "optim.steps=40", "deterministic=true", "device=cuda")
    ends = []
    for graphs in ("true", "false"):
        run = train(tmp_path / graphs, *words, *net, f"cuda_graph={graphs}")
        weights = torch.load(run / "weights.pt", weights_only=True)
        ends.append((pd.read_parquet(run / "steps.parquet"), weights))
    pd.testing.assert_frame_equal(ends[0][0], ends[1][0])
    for name, value in ends[0][1].items():
        assert torch.equal(value, ends[1][1][name]), name
