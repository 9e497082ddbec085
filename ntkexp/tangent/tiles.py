"""Kernels larger than memory: tile after tile into a file, resumable, by many processes."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ntkexp.errors import UserError
from ntkexp.progress import Progress
from ntkexp.results.arrays import TiledArray
from ntkexp.tangent.batch import Batch, Inputs, Outputs
from ntkexp.tangent.features import CheckedFeatures, Features, Findings
from ntkexp.tangent.function import NetworkFunction, check_examples_independent
from ntkexp.tangent.independence import ROWS, Check
from ntkexp.tangent.kernel import add_layer
from ntkexp.tangent.memory import Workspace
from ntkexp.tangent.shape import mirror
from ntkexp.tangent.state import preserve_model_state

MOST_EXAMPLES = 1000
# A few examples round otherwise than a tile does, and a ReLU may open in one and not in the other.
AGREEMENT = {torch.float64: 1e-6, torch.float32: 5e-3}
AGREEMENT_LOW = 5e-2


def tangent_kernel_tiles(
    model: nn.Module,
    inputs: Inputs,
    path: Path | str | TiledArray,
    *,
    outputs: Outputs = None,
    examples_per_tile: int | None = None,
    budget_bytes: int | None = None,
    progress: bool = True,
    check: Check = True,
) -> npt.NDArray[np.floating]:
    """K = Phi Phi^T of many inputs as a memory map of `path` (.npy), (n k, n k), rows i k + c.

    Inputs may lie anywhere; a tile at a time is moved to the model. A second call goes on where
    the first stopped, or works beside it; it returns at once when nothing is left. A kernel on disk
    must be of the same weights and inputs. Its entries for three examples are compared with new
    ones: they differ for another choice of outputs, and for other code of the model.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path, x = Path(folder) / "kernel.npy", torch.tensor([[2.0], [3.0]])
    ...     tangent_kernel_tiles(nn.Linear(1, 1), x, path, progress=False)    # x x' + 1
    memmap([[ 5.,  7.],
            [ 7., 10.]], dtype=float32)
    """
    store = path if isinstance(path, TiledArray) else TiledArray(Path(path))
    check_examples_independent(model)
    with preserve_model_state(model):
        work = _Tiles(NetworkFunction(model, outputs), Batch.of(inputs), budget_bytes, check)
        work.begin(store, examples_per_tile)
        work.check_done(store)
        total = work.count * (work.count + 1) // 2
        with Progress("tangent kernel", total, start=len(store.done()), shown=progress) as bar:
            for row, column in store.todo():
                store.put((row, column), work.block(row, column))
                bar.advance()
    return store.values()  # type: ignore[return-value]


class _Tiles:
    """The tiles of one kernel, each of `step` examples by as many."""

    def __init__(
        self, function: NetworkFunction, batch: Batch, budget_bytes: int | None, check: Check
    ) -> None:
        self.function, self.batch = function, batch
        first = self._moved(slice(0, ROWS))
        self.features = CheckedFeatures(function, first, budget_bytes, check, Findings())
        self.sizes, self.budget_bytes = self.features.sizes, self.features.budget_bytes
        self.workspace = Workspace(self.sizes.like, self.budget_bytes // 8)
        self.step = 0
        self._left: tuple[int, Features] | None = None

    @property
    def count(self) -> int:
        return -(-len(self.batch) // self.step)

    def begin(self, store: TiledArray, examples_per_tile: int | None) -> None:
        k, n = self.sizes.outputs, len(self.batch)
        fits = self.budget_bytes // (4 * self.sizes.bytes_per_example)
        step = examples_per_tile or max(1, min(MOST_EXAMPLES, fits, n))
        dtype = str(self.sizes.like.dtype).removeprefix("torch.")
        identity = description(self.function, *self.batch.parts())
        rows, _ = store.begin(identity, (n * k, n * k), dtype, (step * k, step * k), symmetric=True)
        self.step = rows // k

    def check_done(self, store: TiledArray) -> None:
        """The kernel of three examples, as far as it is done, must be what is on disk."""
        done = set(store.done())
        rows = sorted({row for row, column in done if row == column})
        if not rows:
            return
        chosen = sorted({rows[0], rows[len(rows) // 2], rows[-1]})
        examples = sorted(
            {row * self.step for row in chosen}
            | {min(row * self.step + self.step, len(self.batch)) - 1 for row in chosen}
        )[:3]
        few = self._moved(torch.tensor(examples, device=self.batch.indices.device))
        gram = self._product(self.features.of(few), None)
        k, size = self.sizes.outputs, float(gram.abs().max()) + 1e-30
        for at_i, i in enumerate(examples):
            for at_j, j in enumerate(examples[: at_i + 1]):
                tile = i // self.step, j // self.step
                if tile not in done:
                    continue
                r, c = i % self.step * k, j % self.step * k
                kept = torch.as_tensor(store.read(tile)[r : r + k, c : c + k]).to(gram)
                new = gram[at_i * k : (at_i + 1) * k, at_j * k : (at_j + 1) * k]
                if (kept - new).abs().max() > AGREEMENT.get(gram.dtype, AGREEMENT_LOW) * size:
                    raise UserError(
                        "the kernel on disk is of another function: its entries for examples "
                        f"{j} and {i} are not those of this model and these outputs; choose "
                        "another path"
                    )

    def block(self, row: int, column: int) -> npt.NDArray[np.generic]:
        if self._left is None or self._left[0] != row:
            self._left = None  # free it before the next is made
            self._left = (row, self._features(row))
        right = None if row == column else self._features(column)
        block: npt.NDArray[np.generic] = self._product(self._left[1], right).cpu().numpy()
        return block

    def _product(self, left: Features, right: Features | None) -> Tensor:
        columns = left if right is None else right
        like = self.workspace.tensor(1)
        gram = like.new_zeros(left.examples * left.outputs, columns.examples * left.outputs)
        for name, factors in left.layers.items():
            add_layer(gram, name, factors, right.layers[name] if right else None, self.workspace)
        if right is None:
            mirror(gram)
        return gram

    def _features(self, tile: int) -> Features:
        part = self._moved(slice(tile * self.step, (tile + 1) * self.step))
        return self.features.of(part)

    def _moved(self, examples: slice | Tensor) -> Batch:
        return self.batch[examples].to(self.function.device)


def description(function: NetworkFunction, *inputs: Tensor) -> str:
    """A digest of weights, buffers, inputs and classes; code is compared by its numbers."""
    digest = hashlib.sha256()
    named = [*sorted(function.model.state_dict().items()), *(("inputs", part) for part in inputs)]
    for name, value in named:
        if not isinstance(value, Tensor):
            continue
        digest.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
        digest.update(value.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    outputs = function.outputs
    classes = None if outputs is None or callable(outputs) else [int(c) for c in outputs]
    digest.update(repr((sorted(function.parameters), classes, callable(outputs))).encode())
    return f"tangent kernel {digest.hexdigest()}"
