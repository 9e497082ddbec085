"""The tangent kernel by torch.func: sum over groups of parameters of J J^T, by vmap of jacrev.

A group is as many parameters as have room. A single weight that has not, of a linear layer, is cut
into blocks of rows, each a parameter of its own: y = (W_1 x, W_2 x, ...). The network stays the
same function, and its kernel is the sum over the blocks.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap

# For the Jacobians that are held at once.
ROOM_BYTES = 3 * 2**30


def of_torch_func(model: nn.Module, inputs: Tensor) -> Tensor:
    outputs = model(inputs[:1]).shape[1]
    most = ROOM_BYTES // (len(inputs) * outputs)
    model = in_row_blocks(model, most)
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    gram: Tensor | None = None
    for group in _groups(parameters, most):
        fixed = {name: p for name, p in parameters.items() if name not in group}

        def f(varied: dict[str, Tensor], x: Tensor, fixed: dict[str, Tensor] = fixed) -> Tensor:
            of_one_example: Tensor = functional_call(model, {**fixed, **varied}, (x.unsqueeze(0),))
            return of_one_example.squeeze(0)

        for rows in vmap(jacrev(f), (None, 0))(group, inputs).values():
            flat = rows.flatten(0, 1).flatten(1)
            gram = flat @ flat.t() if gram is None else gram.addmm_(flat, flat.t())
    assert gram is not None
    return gram


def in_row_blocks(model: nn.Module, most_bytes: int) -> nn.Module:
    """The model with its large linear layers cut into rows: no weight beyond `most_bytes`.

    Function and weights are the same. Subclasses and weights that several modules share are left
    as they are; without anything to cut it is the model itself.
    """
    owners = Counter(id(p) for m in model.modules() for p in m.parameters(recurse=False))
    large = [
        name
        for name, module in model.named_modules()
        if type(module) is nn.Linear
        and module.weight.nbytes > most_bytes
        and owners[id(module.weight)] == 1
    ]
    if not large:
        return model
    cut = copy.deepcopy(model, {id(p): p for p in model.parameters()})
    for name in large:
        layer = cut.get_submodule(name)
        assert isinstance(layer, nn.Linear)
        rows = most_bytes // (layer.weight.nbytes // layer.out_features)
        cut.set_submodule(name, RowBlocks(layer, max(1, rows)))
    return cut


class RowBlocks(nn.Module):
    """A linear layer, some rows of its weight at a time."""

    def __init__(self, layer: nn.Linear, rows: int) -> None:
        super().__init__()
        self.weights = nn.ParameterList(layer.weight.detach().split(rows))
        biases = () if layer.bias is None else layer.bias.detach().split(rows)
        self.biases = nn.ParameterList(biases)

    def forward(self, x: Tensor) -> Tensor:
        biases = list(self.biases) or [None] * len(self.weights)
        blocks = zip(self.weights, biases, strict=True)
        return torch.cat([nn.functional.linear(x, w, b) for w, b in blocks], -1)


def _groups(parameters: dict[str, Tensor], most_bytes: int) -> Iterator[dict[str, Tensor]]:
    group: dict[str, Tensor] = {}
    for name, value in parameters.items():
        if group and sum(p.nbytes for p in group.values()) + value.nbytes > most_bytes:
            yield group
            group = {}
        group[name] = value
    yield group
