"""The kernel of a linearised network on its data, and where its outputs start: computed once."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np
import torch
from torch import Tensor, nn

from ntkexp.data import Split
from ntkexp.errors import UserError
from ntkexp.objectives.evaluate import outputs_of
from ntkexp.tangent import TangentFeatures, tangent_kernel
from ntkexp.tangent.digest import description
from ntkexp.tangent.function import NetworkFunction
from ntkexp.training.function_space.row_file import Array, write_symmetric

# Rounding differs with the other examples of a batch, and a ReLU may open in one and not the other.
AGREEMENT = 5e-3


class FrozenKernels:
    """The kernel of the training examples with themselves, and of the test examples with them.

    Each is computed when it is first asked for. By then the process has the number of threads of
    its run, on which the last digits depend. Rows are example-major: row i c + output.
    """

    on_disk = False

    def __init__(self, network: nn.Module, splits: Mapping[str, Tensor], keeps_start: bool) -> None:
        self.network, self._inputs, self._keeps_start = network, splits, keeps_start
        self._starts: dict[str, Tensor] = {}

    @cached_property
    def train(self) -> Tensor:
        """The kernel of the training examples, (n c, n c)."""
        return tangent_kernel(self.network, self._inputs["train"], layers=False).gram

    @cached_property
    def test(self) -> Tensor:
        """The kernel of the test examples with the training examples, (m c, n c)."""
        inputs = self._inputs["test"], self._inputs["train"]
        return tangent_kernel(self.network, *inputs, layers=False).gram

    def to_train(self, split: str) -> Tensor:
        return self.train if split == "train" else self.test

    def expect(self, examples: Tensor) -> None:
        """Announce which training examples are read next. In memory there is nothing to
        prepare."""

    def start(self, split: str) -> Tensor:
        """The outputs (n, c) for a = 0."""
        if split not in self._starts:
            outputs = outputs_of(self.network, self._inputs[split])
            self._starts[split] = outputs if self._keeps_start else torch.zeros_like(outputs)
        return self._starts[split]


class KernelsOnDisk(FrozenKernels):
    """Frozen kernels, that of the training examples in a file of `folder` (row_file.py).

    Memory holds as much of the file as is free. The file is named after architecture, weights and
    examples, and it stays: runs that differ in labels or rates read the same one.
    """

    on_disk = True

    def __init__(
        self,
        network: nn.Module,
        splits: Mapping[str, Tensor],
        keeps_start: bool,
        architecture: str,
        folder: Path,
        progress: bool,
    ) -> None:
        super().__init__(network, splits, keeps_start)
        self.progress = progress
        content = architecture + description(NetworkFunction(network, None), splits["train"])
        self.file = folder / f"{hashlib.sha256(content.encode()).hexdigest()[:16]}.npy"

    @cached_property
    def train(self) -> Tensor:
        print(f"the kernel of the training examples is in {self.file}", file=sys.stderr)
        inputs, features = self._inputs["train"], TangentFeatures(self.network)
        ends = features.kernel(inputs[[0, -1]], layers=False)
        k, dtype = ends.outputs, str(ends.gram.dtype).removeprefix("torch.")

        def right_part(rows: slice) -> Array:
            first, last = rows.start // k, rows.stop // k
            kernel = features.kernel(inputs[first:last], inputs[first:], layers=False)
            return kernel.gram.numpy()

        write_symmetric(
            self.file, len(inputs) * k, dtype, right_part, multiple=k, shown=self.progress
        )
        # PyTorch takes no read-only array without a warning; a private map never changes the file.
        kernel = torch.from_numpy(np.load(self.file, mmap_mode="c"))
        self._refuse_other_code(kernel, ends.gram)
        return kernel

    def _refuse_other_code(self, kernel: Tensor, ends: Tensor) -> None:
        """The name tells other weights and examples; other code of the network shows in the entries
        of the first and the last example, which are computed anew."""
        half = len(ends) // 2
        places = torch.cat([torch.arange(half), torch.arange(len(kernel) - half, len(kernel))])
        kept = kernel[places][:, places]
        if (kept - ends).abs().max() > AGREEMENT * ends.abs().max():
            raise UserError(f"{self.file}: is the kernel of another function; remove it")

    def expect(self, examples: Tensor) -> None:
        """Ask the system to read all of these rows at once; otherwise each would be waited for
        in turn."""
        if not hasattr(os, "posix_fadvise"):  # not Linux
            return
        size = self.train.nbytes // len(self._inputs["train"])
        header = self.file.stat().st_size - self.train.nbytes
        with self.file.open("rb") as opened:
            for number in examples.tolist():
                place = header + number * size
                os.posix_fadvise(opened.fileno(), place, size, os.POSIX_FADV_WILLNEED)

    @property
    def test(self) -> Tensor:
        raise ValueError("test examples have no kernel here; their outputs come from the weights")


_IN_MEMORY: WeakValueDictionary[str, FrozenKernels] = WeakValueDictionary()


def frozen_kernels(
    network: nn.Module,
    train: Split,
    test: Split,
    test_examples: int,
    *,
    architecture: str,
    keeps_start: bool,
    folder: Path | None,
    progress: bool,
) -> FrozenKernels:
    """The kernels of this network at these weights, in memory or, where one is given, in `folder`.

    Runs of one process that have the same kernels share them. `architecture` says what the network
    computes with its weights: without it a network with ReLUs and one without, of equal weights,
    would share a kernel.
    """
    inputs = {"train": train.inputs, "test": test.inputs[:test_examples]}
    function = NetworkFunction(network, None)
    descriptions = [description(function, examples) for examples in inputs.values()]
    key = f"{' '.join(descriptions)} {keeps_start} {train.inputs.device} {folder} {architecture}"
    kernels = _IN_MEMORY.get(key)
    if kernels is None:
        if folder is None:
            kernels = FrozenKernels(network, inputs, keeps_start)
        else:
            kernels = KernelsOnDisk(network, inputs, keeps_start, architecture, folder, progress)
        _IN_MEMORY[key] = kernels
    return kernels
