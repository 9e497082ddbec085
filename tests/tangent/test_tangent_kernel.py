"""Every net's kernel is the product of its Jacobians."""

from __future__ import annotations

import pytest
import torch

from ntkexp.tangent import Direct, tangent_kernel, tangent_kernels
from ntkexp.tangent.kernel import add_layer
from ntkexp.tangent.memory import Workspace
from tests.tangent.dense_jacobian import distance, jacobian, layer_kernels
from tests.tangent.grid.nets import built
from tests.tangent.grid.traps import TRAPS

EXACT = 1e-10


@pytest.mark.parametrize("name", TRAPS)
def test_cross_kernel_is_a_block_of_the_whole(name: str) -> None:
    model, inputs = built(name)
    rows = jacobian(model, inputs)
    c = next(iter(rows.values())).shape[0] // len(inputs)
    left = {key: value[: 2 * c] for key, value in rows.items()}
    right = {key: value[2 * c :] for key, value in rows.items()}
    kernel = tangent_kernel(model, inputs[:2], inputs[2:])
    truth = layer_kernels(left, right)
    assert distance(kernel.gram, sum(truth.values())) < EXACT
    assert all(distance(kernel.layers[k], truth[k]) < 1e-8 for k in truth if truth[k].any())


@pytest.mark.parametrize("name", TRAPS)
def test_a_small_budget_changes_nothing(name: str) -> None:
    model, inputs = built(name)
    whole = tangent_kernel(model, inputs)
    small = tangent_kernel(model, inputs, budget_bytes=2000)
    assert len(small.plan.steps) > len(whole.plan.steps)
    assert distance(small.gram, whole.gram) < EXACT
    cross = tangent_kernel(model, inputs[:3], inputs, budget_bytes=2000)
    c = whole.outputs
    assert distance(cross.gram, whole.gram[: 3 * c]) < EXACT


def test_several_batches_share_one_forward() -> None:
    model, inputs = built("residual, batch norm, zero scale")
    forwards = []
    handle = model.register_forward_hook(lambda *_: forwards.append(None))
    kernels = tangent_kernels(model, {"train": inputs[:3], "test": inputs[3:]}, check=False)
    handle.remove()
    # The reference pass on two examples, and the forward itself.
    assert len(forwards) == 2
    for name, part in {"train": inputs[:3], "test": inputs[3:]}.items():
        alone = tangent_kernel(model, part)
        assert distance(kernels[name].gram, alone.gram) < EXACT
        assert all(distance(kernels[name].layers[k], alone.layers[k]) < 1e-8 for k in alone.layers)


def test_layers_follow_the_forward() -> None:
    model, inputs = built("residual, batch norm, zero scale")
    assert list(tangent_kernel(model, inputs).layers) == ["stem", "first", "second", "last", "head"]


def test_total_alone() -> None:
    model, inputs = built("norms")
    alone = tangent_kernel(model, inputs, layers=False)
    assert alone.layers == {}
    assert distance(alone.gram, tangent_kernel(model, inputs).gram) < EXACT


def test_chosen_outputs() -> None:
    model, inputs = built("in-place ReLU")
    whole = tangent_kernel(model, inputs)
    four = whole.gram.view(whole.shape)
    chosen = tangent_kernel(model, inputs, outputs=[2, 0])
    assert distance(chosen.gram.view(chosen.shape), four[:, [2, 0]][..., [2, 0]]) < EXACT
    difference = tangent_kernel(model, inputs, outputs=lambda f: f[:, 1] - f[:, 0])
    truth = jacobian(model, inputs, lambda f: f[:, 1] - f[:, 0])
    assert difference.gram.shape == (len(inputs), len(inputs))
    assert distance(difference.gram, sum(layer_kernels(truth).values())) < EXACT


def test_dtype_follows_the_model() -> None:
    model, inputs = built("norms")
    exact = tangent_kernel(model, inputs)
    assert exact.gram.dtype == torch.float64
    single = tangent_kernel(model.float(), inputs.float())
    assert single.gram.dtype == torch.float32
    assert distance(single.gram.double(), exact.gram) < 1e-5


def test_a_long_row_is_summed_to_float32_precision() -> None:
    """Sixteen million products of one sign."""
    torch.manual_seed(0)
    rows = torch.rand(2, 1, 2**24)
    grams = []
    for values in (rows, rows.double()):
        gram = values.new_zeros(2, 2)
        add_layer(gram, "", {"w": Direct(values)}, {"w": Direct(values)}, Workspace(values, 2**30))
        grams.append(gram.double())
    assert distance(*grams) < 1e-5
