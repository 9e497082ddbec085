"""The gradients of a linearised network on its data, and where its outputs start: computed once."""

from __future__ import annotations

from functools import cached_property
from weakref import WeakValueDictionary

import torch
from torch import Tensor, nn

from ntkexp.data import Split
from ntkexp.objectives.evaluate import outputs_of
from ntkexp.tangent.digest import description
from ntkexp.tangent.function import NetworkFunction
from ntkexp.tangent.stored_factors import StoredFactors


class FrozenFactors:
    """Gradients and first outputs (n,) of one split; each is computed when first asked for."""

    def __init__(self, network: nn.Module, inputs: Tensor, keeps_start: bool) -> None:
        self.network, self.inputs, self.keeps_start = network, inputs, keeps_start

    @cached_property
    def gradients(self) -> StoredFactors:
        return StoredFactors.of(self.network, self.inputs)

    @cached_property
    def start(self) -> Tensor:
        outputs = outputs_of(self.network, self.inputs)[:, 0]
        return outputs if self.keeps_start else torch.zeros_like(outputs)


_IN_MEMORY: WeakValueDictionary[str, FrozenFactors] = WeakValueDictionary()


def frozen_factors(
    network: nn.Module, split: Split, architecture: str, keeps_start: bool
) -> FrozenFactors:
    """The gradients of this network on a split; runs of one process that have the same share them.

    `architecture` says what the network computes with its weights.
    """
    inputs = split.inputs
    digest = description(NetworkFunction(network, None), inputs)
    key = f"{digest} {keeps_start} {inputs.device} {architecture}"
    factors = _IN_MEMORY.get(key)
    if factors is None:
        factors = _IN_MEMORY[key] = FrozenFactors(network, inputs, keeps_start)
    return factors
