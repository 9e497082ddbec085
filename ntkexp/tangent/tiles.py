"""Kernels larger than memory: tile after tile into a file, resumable."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.progress import Progress
from ntkexp.tangent.features import Features, features
from ntkexp.tangent.memory import default_budget
from ntkexp.tangent.outputs import Outputs
from ntkexp.tangent.plan import add_layer
from ntkexp.tangent.refusals import refuse_coupled, refuse_empty, trainable
from ntkexp.tangent.rehearsal import rehearse
from ntkexp.tangent.routes.blocks import mirror
from ntkexp.tangent.untouched import untouched
from ntkexp.tangent.workspace import Workspace

MOST_EXAMPLES = 1000


def tangent_kernel_tiles(
    model: nn.Module,
    inputs: Tensor,
    path: Path,
    *,
    outputs: Outputs = None,
    examples_per_tile: int | None = None,
    budget_bytes: int | None = None,
    progress: bool = True,
) -> npt.NDArray[np.floating]:
    """The kernel of many inputs as a memory map of `path` (.npy), (n k, n k), rows i k + c.

    Inputs may lie anywhere; a tile at a time is moved to the model. Beside the file stands
    `<path>.tiles.json`: what the kernel is of, and the tiles that are done. A second call takes up
    where the first stopped, and returns at once when nothing is left.
    """
    parameters = trainable(model)
    refuse_coupled(model)
    refuse_empty(inputs)
    device = next(iter(parameters.values())).device
    with untouched(model):
        first = rehearse(model, inputs[:3].to(device), outputs, parameters)
        budget = budget_bytes or default_budget(device)
        fits = budget // (4 * first.bytes_per_example)
        step = examples_per_tile or max(1, min(MOST_EXAMPLES, fits, len(inputs)))
        ledger = _Ledger(path, _identity(model, inputs, outputs, step))
        gram = ledger.open(len(inputs) * first.outputs, first.values)
        workspace = Workspace(first.values, budget // 8)

        def features_of(tile: int) -> Features:
            part = inputs[tile * step : (tile + 1) * step].detach().to(device)
            return features(
                model, part, outputs, parameters, rehearse(model, part, outputs, parameters)
            )

        count = -(-len(inputs) // step)
        total = count * (count + 1) // 2
        with Progress("tangent kernel", total, start=len(ledger.done), shown=progress) as bar:
            for row in range(count):
                left: Features | None = None
                for column in range(row, -1, -1):
                    if (row, column) in ledger.done:
                        continue
                    left = left or features_of(row)
                    right = None if column == row else features_of(column)
                    block = _block(left, right, workspace).cpu().numpy()
                    width = step * first.outputs
                    at = (row * width, column * width)
                    gram[at[0] : at[0] + block.shape[0], at[1] : at[1] + block.shape[1]] = block
                    gram[at[1] : at[1] + block.shape[1], at[0] : at[0] + block.shape[0]] = block.T
                    gram.flush()
                    ledger.add(row, column)
                    bar.advance()
    return gram


def _block(left: Features, right: Features | None, workspace: Workspace) -> Tensor:
    columns = left if right is None else right
    like = workspace.tensor(1)
    gram = like.new_zeros(left.examples * left.outputs, columns.examples * left.outputs)
    for name, factors in left.layers.items():
        add_layer(gram, name, factors, right.layers[name] if right else None, workspace)
    if right is None:
        mirror(gram)
    return gram


class _Ledger:
    """The file, and the record beside it of what it holds; a tile is recorded once it is safe."""

    def __init__(self, path: Path, identity: str) -> None:
        self.path, self.identity = path, identity
        self.record = path.with_name(path.name + ".tiles.json")
        self.done: set[tuple[int, int]] = set()

    def open(self, size: int, like: Tensor) -> np.memmap[tuple[int, ...], np.dtype[np.floating]]:
        dtype = np.dtype(str(like.dtype).removeprefix("torch."))
        if self.record.exists():
            found = json.loads(self.record.read_text())
            if found["identity"] != self.identity or not self.path.exists():
                raise UserError(
                    f"{self.path}: the kernel begun there is of another model, other inputs or "
                    f"other tiles; remove it and {self.record.name}, or choose another file"
                )
            self.done = {(row, column) for row, column in found["done"]}
            return np.lib.format.open_memmap(self.path, mode="r+")
        if self.path.exists():
            raise UserError(f"{self.path} exists and is no begun kernel; choose another file")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        gram = np.lib.format.open_memmap(self.path, mode="w+", dtype=dtype, shape=(size, size))
        self._write()
        return gram

    def add(self, row: int, column: int) -> None:
        self.done.add((row, column))
        self._write()

    def _write(self) -> None:
        record = {"identity": self.identity, "done": sorted(self.done)}
        beside = self.record.with_name(self.record.name + ".new")
        beside.write_text(json.dumps(record))
        beside.replace(self.record)


def _identity(model: nn.Module, inputs: Tensor, outputs: Outputs, step: int) -> str:
    """A digest of everything the kernel depends on, the model's code apart."""
    digest = hashlib.sha256()
    for name, value in [*sorted(model.state_dict().items()), ("inputs", inputs)]:
        digest.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
        digest.update(value.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    trained = sorted(name for name, p in model.named_parameters() if p.requires_grad)
    chosen = getattr(outputs, "__qualname__", repr(outputs))
    digest.update(repr((trained, chosen, step)).encode())
    return digest.hexdigest()
