"""The trace, exact and estimated."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ntkexp.tangent import SharedForward, tangent_kernel, tangent_trace
from tests.tangent.dense_jacobian import layer_kernels
from tests.tangent.grid.nets import built

DRAWS = 120


def draws(name: str) -> torch.Tensor:
    model, inputs = built(name)
    generator, shared = torch.Generator().manual_seed(3), SharedForward(model)
    return torch.stack([shared.run(inputs, generator) for _ in range(DRAWS)])


@pytest.mark.parametrize("name", ["in-place ReLU", "norms", "tied to the head"])
def test_the_estimate_is_unbiased(name: str) -> None:
    model, inputs = built(name)
    found = draws(name)
    error = found.mean() - tangent_trace(model, inputs)
    assert abs(error) < 4 * found.std() / DRAWS**0.5


def test_variance_of_signs_is_that_of_the_diagonal_blocks() -> None:
    model, inputs = built("in-place ReLU")
    kernel = tangent_kernel(model, inputs)
    four = kernel.gram.view(kernel.shape)
    blocks = torch.stack([four[i, :, i] for i in range(len(inputs))])
    off_diagonal = blocks - torch.diag_embed(blocks.diagonal(dim1=1, dim2=2))
    expected = 2 * off_diagonal.square().sum()
    assert torch.isclose(draws("in-place ReLU").var(), expected, rtol=0.3)


def test_a_draw_is_the_generators() -> None:
    model, inputs = built("norms")

    def draw(seed: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(seed)
        return tangent_trace(model, inputs, estimate="signs", generator=generator)

    assert draw(0) == draw(0) and draw(0) != draw(1)


@pytest.mark.parametrize("name", ["in-place ReLU", "functional use"])
def test_a_shared_forward_serves_the_estimate_and_the_step(name: str) -> None:
    model, inputs = built(name)
    labels = torch.zeros(len(inputs), dtype=torch.long)
    shared = SharedForward(model)
    for seed in range(2):  # the second time the rules are trusted
        model.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        plain = [p.grad.clone() for p in model.parameters()]
        model.zero_grad()
        with shared:
            outputs = model(inputs)
        trace = shared.trace(outputs, inputs, torch.Generator().manual_seed(seed))
        nn.functional.cross_entropy(outputs, labels).backward()
        assert all(torch.equal(p.grad, g) for p, g in zip(model.parameters(), plain, strict=True))
        alone = tangent_trace(
            model, inputs, estimate="signs", generator=torch.Generator().manual_seed(seed)
        )
        assert torch.isclose(trace, alone, rtol=1e-10)


@pytest.mark.parametrize("layer", [nn.BatchNorm1d(4), nn.Dropout(0.5)])
def test_the_batch_function_has_a_kernel_by_name(layer: nn.Module) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), layer, nn.Tanh(), nn.Linear(4, 2)).double().train()
    inputs = torch.randn(5, 3, dtype=torch.float64)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    torch.manual_seed(7)
    values = model(inputs)
    parameters = dict(model.named_parameters())
    rows: dict[str, list[torch.Tensor]] = {name: [] for name in parameters}
    for value in values.flatten():
        grads = torch.autograd.grad(value, list(parameters.values()), retain_graph=True)
        for name, grad in zip(parameters, grads, strict=True):
            rows[name].append(grad.flatten())
    truth = layer_kernels({name: torch.stack(grads) for name, grads in rows.items()})
    model.load_state_dict(state)
    for budget in (None, 1000):
        torch.manual_seed(7)
        kernel = tangent_kernel(model, inputs, batch_function=True, budget_bytes=budget)
        assert torch.allclose(kernel.gram, sum(truth.values()), rtol=1e-10)
        assert all(torch.allclose(kernel.layers[k], truth[k], rtol=1e-10) for k in truth)
    assert all(torch.equal(value, state[k]) for k, value in model.state_dict().items())
