"""On a GPU: the same matrices, in full precision, inside the budget."""

from __future__ import annotations

import pytest
import torch

from ntkexp.tangent import tangent_kernel, tangent_trace
from tests.tangent.dense_jacobian import distance
from tests.tangent.grid.nets import built
from tests.tangent.grid.traps import TRAPS

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


@pytest.mark.parametrize("name", [name for name in TRAPS if not name.startswith("sequence")])
def test_the_kernel_is_that_of_the_cpu(name: str) -> None:
    model, inputs = built(name)
    expected = tangent_kernel(model, inputs)
    kernel = tangent_kernel(model.cuda(), inputs.cuda())
    assert distance(kernel.gram.cpu(), expected.gram) < 1e-10
    trace = tangent_trace(model, inputs.cuda())
    assert torch.isclose(trace.cpu(), expected.gram.trace(), rtol=1e-10)


def test_tf32_is_off_and_the_random_state_untouched() -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 64, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(64 * 256, 10),
    )
    inputs = torch.randn(16, 3, 16, 16)
    exact = tangent_kernel(net.double(), inputs.double()).gram
    state = torch.cuda.get_rng_state()
    single = tangent_kernel(net.float().cuda(), inputs.cuda()).gram
    assert distance(single.double().cpu(), exact) < 2e-6
    assert torch.equal(state, torch.cuda.get_rng_state())


def test_peak_memory_is_the_budget() -> None:
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.Flatten(), torch.nn.Linear(32 * 1024, 10)
    ).cuda()
    inputs = torch.randn(256, 3, 32, 32, device="cuda")
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    budget = 128 * 2**20
    kernel = tangent_kernel(net, inputs, layers=False, budget_bytes=budget)
    assert torch.cuda.max_memory_allocated() - before - kernel.gram.nbytes < 1.25 * budget
