"""What makes no sense gets one clear line."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.tangent import tangent_kernel, tangent_trace


def linear() -> nn.Module:
    return nn.Linear(3, 2)


def refused(model: nn.Module, inputs: Tensor, line: str, **options: object) -> None:
    for measure in (tangent_kernel, tangent_trace):
        with pytest.raises(UserError, match=line) as caught:
            measure(model, inputs, **options)
        assert "\n" not in str(caught.value)


def test_no_parameters() -> None:
    refused(nn.Flatten(), torch.randn(4, 3), "no trainable parameters")
    refused(linear().requires_grad_(False), torch.randn(4, 3), "no trainable parameters")


def test_no_inputs() -> None:
    refused(linear(), torch.randn(0, 3), "at least one input")


def test_output_is_not_one_row_an_example() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Unflatten(1, (2, 2)))
    refused(model, torch.randn(3, 3), r"\(n, c\) is needed")


def test_output_is_no_tensor() -> None:
    class Pair(nn.Linear):
        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
            return super().forward(x), x

    refused(Pair(3, 2), torch.randn(4, 3), "returns a tuple")


def test_nan_says_which_input() -> None:
    inputs = torch.randn(6, 3)
    inputs[4, 1] = torch.nan
    refused(linear(), inputs, "input 4 is not finite")


def test_classes_that_do_not_exist() -> None:
    refused(linear(), torch.randn(4, 3), "classes are 0 to 1", outputs=[2])
    refused(linear(), torch.randn(4, 3), "list of classes", outputs=[])
    refused(linear(), torch.randn(4, 3), "list of classes", outputs="a")
    # A mask, which would be taken for the classes 1 and 0.
    refused(linear(), torch.randn(4, 3), "list of classes", outputs=[True, False])


def test_outputs_that_fail() -> None:
    labels = torch.tensor([0, 1, 1, 0])
    for outputs, line in (
        (lambda f: nn.functional.cross_entropy(f, labels, reduction="none"), "batch_size"),
        (lambda f: f / (1 // 0), "division"),
        (lambda f: [][0], "out of range"),
        (lambda f: next(iter(())), r"StopIteration"),
    ):
        refused(linear(), torch.randn(4, 3), rf"outputs= fails .*{line}.*indices", outputs=outputs)


@pytest.mark.parametrize("budget", ["1GB", 0, -1, 1e9, True])
def test_a_budget_that_is_no_number_of_bytes(budget: object) -> None:
    refused(linear(), torch.randn(4, 3), "number of bytes", budget_bytes=budget)


def test_batch_norm_in_training_mode() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    refused(model, torch.randn(4, 3), "layer 1: batch norm in training mode")
    assert tangent_kernel(model.eval(), torch.randn(4, 3)).gram.shape == (8, 8)
    untracked = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2, track_running_stats=False))
    refused(untracked.eval(), torch.randn(4, 3), "layer 1: batch norm without running statistics")


def test_active_dropout() -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5))
    refused(model, torch.randn(4, 3), "layer 1: Dropout is active")
    assert tangent_kernel(model.eval(), torch.randn(4, 3)).gram.shape == (8, 8)


def test_estimates() -> None:
    inputs = torch.randn(4, 3)
    with pytest.raises(UserError, match="needs a generator"):
        tangent_trace(linear(), inputs, estimate="signs")


def test_a_kernel_larger_than_memory_is_refused_before_any_of_it_is_computed() -> None:
    inputs = torch.zeros(1, 3).expand(400_000, 3)
    line = r"800,000 x 800,000 numbers and as much for each of 1 layers takes 4,768.4 GiB of memory"
    with pytest.raises(UserError, match=line + r", there are .*layers=False.*outputs=.*operator"):
        tangent_kernel(linear(), inputs)
    with pytest.raises(UserError, match=r"800,000 x 600,000 numbers takes 1,788.1 GiB"):
        tangent_kernel(linear(), inputs, inputs[:300_000], layers=False)
