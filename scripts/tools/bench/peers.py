"""Other ways to the tangent kernel of a classifier, each model, inputs (n, ...) -> (n c, n c).

What has no vmap rule, or does not fit into memory, each handles in its own way; all rows are
example-major. A tool that is not installed is left out, and `absent` says so.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from ntkexp.scripts.tools.bench.torch_func import of_torch_func

Peer: TypeAlias = Callable[[nn.Module, Tensor], Tensor]


def of_loops(model: nn.Module, inputs: Tensor) -> Tensor:
    """One backward for each output of each input: works wherever autograd does."""
    parameters = [*model.parameters()]
    rows = []
    for example in inputs:
        for value in model(example.unsqueeze(0)).flatten():
            grads = torch.autograd.grad(value, parameters, retain_graph=True)
            rows.append(torch.cat([grad.flatten() for grad in grads]))
    whole = torch.stack(rows)
    return whole @ whole.t()


def of_nngeometry(model: nn.Module, inputs: Tensor) -> Tensor:
    """By nngeometry, whose axes are (c, n, c, n)."""
    from nngeometry.gram import GramMatrix
    from torch.utils.data import DataLoader, TensorDataset

    loader = DataLoader(
        TensorDataset(inputs, torch.zeros(len(inputs), dtype=torch.long)), batch_size=len(inputs)
    )
    gram = GramMatrix(model, loader, function=lambda *batch: model(batch[0])).to_torch()
    return gram.permute(1, 0, 3, 2).reshape(gram.shape[0] * gram.shape[1], -1).detach()


def of_backpack(model: nn.Module, inputs: Tensor) -> Tensor:
    """Per-example gradients of one output after the other, for sequential nets."""
    from backpack import backpack, extend
    from backpack.extensions import BatchGrad

    whole = extend(model)
    rows = []
    for output in range(whole(inputs).shape[1]):
        with backpack(BatchGrad()):
            whole(inputs)[:, output].sum().backward()
        rows.append(torch.cat([p.grad_batch.flatten(1) for p in whole.parameters()], 1))
        for p in whole.parameters():
            p.grad = None
            del p.grad_batch
    j = torch.stack(rows, 1).flatten(0, 1).detach()
    return j @ j.t()


def of_curvlinops(model: nn.Module, inputs: Tensor) -> Tensor:
    """J applied to J^T applied to unit vectors."""
    from curvlinops import JacobianLinearOperator, TransposedJacobianLinearOperator

    data = [(inputs, torch.zeros(len(inputs), dtype=torch.long))]
    parameters = [p for p in model.parameters() if p.requires_grad]
    arguments = (model, parameters, data)
    options = {"check_deterministic": False}
    size = model(inputs).numel()
    pulled = TransposedJacobianLinearOperator(*arguments, **options) @ torch.eye(size)
    gram: Tensor = JacobianLinearOperator(*arguments, **options) @ pulled
    return gram.detach()


def of_neural_tangents(model: nn.Module, inputs: Tensor) -> Tensor:
    """Structured derivatives on JAX, for sequential nets of convolutions, ReLUs, linear layers and
    average pools (its rules have none for a maximum over windows)."""
    import jax
    import numpy as np

    if model not in _KERNELS:
        from jax._src import source_info_util
        from jax.interpreters import ad

        # neural-tangents 0.6.5 looks for them where JAX 0.4.30 no longer has them.
        ad.source_info_util, ad.config = source_info_util, jax.config
        import neural_tangents as nt

        kernel_function = nt.empirical_ntk_fn(
            partial(_on_jax, [*model.children()]),
            trace_axes=(),
            vmap_axes=0,
            implementation=nt.NtkImplementation.STRUCTURED_DERIVATIVES,
        )
        _KERNELS[model] = jax.jit(kernel_function, static_argnums=1)
    weights = [[np.asarray(p.detach()) for p in layer.parameters()] for layer in model.children()]
    # Its axes are (n, n, c, c).
    kernel = np.array(_KERNELS[model](inputs.numpy(), None, weights))
    return torch.from_numpy(kernel).permute(0, 2, 1, 3).flatten(2).flatten(0, 1)


# A net's kernel, compiled once.
_KERNELS: WeakKeyDictionary[nn.Module, Callable[..., Any]] = WeakKeyDictionary()


def _on_jax(layers: list[nn.Module], weights: Any, x: Any) -> Any:
    """The outputs of a sequential net, by JAX."""
    import jax

    for layer, parameters in zip(layers, weights, strict=True):
        if isinstance(layer, nn.Conv2d):
            around = [(size, size) for size in layer.padding]
            x = jax.lax.conv_general_dilated(x, parameters[0], layer.stride, around)
            x = x + parameters[1][:, None, None]
        elif isinstance(layer, nn.Linear):
            x = x @ parameters[0].T + parameters[1]
        elif isinstance(layer, nn.ReLU):
            x = jax.nn.relu(x)
        elif isinstance(layer, nn.AvgPool2d):
            by = layer.kernel_size
            n, channels, height, width = x.shape
            x = x.reshape(n, channels, height // by, by, width // by, by).mean((3, 5))
        elif isinstance(layer, nn.Flatten):
            x = x.reshape(len(x), -1)
        else:
            raise NotImplementedError(f"{type(layer).__name__}: no counterpart here")
    return x


PEERS: Mapping[str, tuple[str, Peer]] = {
    "torch.func": ("torch", of_torch_func),
    "nngeometry": ("nngeometry", of_nngeometry),
    "backpack": ("backpack", of_backpack),
    "curvlinops": ("curvlinops", of_curvlinops),
    "neural-tangents": ("neural_tangents", of_neural_tangents),
}


def absent() -> list[str]:
    return [name for name, (package, _) in PEERS.items() if find_spec(package) is None]


def in_turns(
    works: Mapping[str, Callable[[], object]],
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
    warm: bool = False,
) -> dict[str, float]:
    """Median seconds of each, taking turns, so that a machine slower for a while is so for all.

    A first round does not count, unless all are `warm` already.
    """
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for counts in ([] if warm else [False]) + [True] * rounds:
        for name, work in works.items():
            began = clock()
            work()
            if counts:
                seconds[name].append(clock() - began)
    return {name: statistics.median(times) for name, times in seconds.items()}
