"""The kernel of a linearised network on its data, and where its outputs start: computed once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from weakref import WeakValueDictionary

import torch
from torch import Tensor, nn

from ntkexp.data import Split
from ntkexp.tangent import tangent_kernel
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.tiles import description

EXAMPLES_AT_ONCE = 500


class FrozenKernels:
    """The kernels of the training examples with themselves, and of test examples with these.

    Nothing is computed before it is asked for: by then the process has the threads of its run, on
    whose number the last digits depend. Rows are example-major, i c + output.
    """

    def __init__(self, network: nn.Module, splits: Mapping[str, Tensor], keeps_start: bool) -> None:
        self.network, self._inputs, self._keeps_start = network, splits, keeps_start
        self._starts: dict[str, Tensor] = {}

    @cached_property
    def train(self) -> Tensor:
        """(n c, n c)"""
        return tangent_kernel(self.network, self._inputs["train"], layers=False).gram

    @cached_property
    def test(self) -> Tensor:
        """(m c, n c)"""
        inputs = self._inputs["test"], self._inputs["train"]
        return tangent_kernel(self.network, *inputs, layers=False).gram

    def to_train(self, split: str) -> Tensor:
        return self.train if split == "train" else self.test

    def start(self, split: str) -> Tensor:
        """(n, c): what the outputs are for a = 0."""
        if split not in self._starts:
            parts = torch.split(self._inputs[split], EXAMPLES_AT_ONCE)
            with torch.no_grad():
                found = torch.cat([self.network(part) for part in parts])
            self._starts[split] = found if self._keeps_start else torch.zeros_like(found)
        return self._starts[split]


_KNOWN: WeakValueDictionary[str, FrozenKernels] = WeakValueDictionary()


def frozen_kernels(
    network: nn.Module, train: Split, test: Split, test_examples: int, *, keeps_start: bool
) -> FrozenKernels:
    """Those of this network at these weights; runs of one process that have the same share them."""
    inputs = {"train": train.inputs, "test": test.inputs[:test_examples]}
    function = NetworkFunction(network, None)
    descriptions = [description(function, of) for of in inputs.values()]
    key = f"{' '.join(descriptions)} {keeps_start} {train.inputs.device}"
    found = _KNOWN.get(key)
    if found is None:
        found = _KNOWN[key] = FrozenKernels(network, inputs, keeps_start)
    return found
