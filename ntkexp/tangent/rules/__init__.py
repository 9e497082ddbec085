"""Which modules have a fast rule, and what their parameters' features are made of.

A rule is exact only for the module's own forward: a subclass has one if it keeps its parent's.
"""

from __future__ import annotations

from typing import Protocol

from torch import Tensor, nn

from ntkexp.tangent.factors.factor import Factor
from ntkexp.tangent.passes.calls import Call
from ntkexp.tangent.rules.conv import ConvRule
from ntkexp.tangent.rules.linear import EmbeddingRule, LinearRule
from ntkexp.tangent.rules.norm import BatchNormRule, GroupNormRule, LayerNormRule
from ntkexp.tangent.rules.uses import UnfitError


class Rule(Protocol):
    """Takes one class's output gradients after the other, and gives the factors at the end."""

    def __init__(self, call: Call, wanted: frozenset[str], examples: int, outputs: int) -> None: ...

    def receive(self, output: int, grad: Tensor) -> None:
        """The gradient of the sum over the examples of one output, in the call's output shape."""

    def factors(self) -> dict[str, Factor]:
        """For each wanted parameter of the module."""


FORWARDS = ("forward", "_conv_forward", "__call__")

RULES: dict[type[nn.Module], type[Rule]] = {
    nn.Linear: LinearRule,
    nn.Conv1d: ConvRule,
    nn.Conv2d: ConvRule,
    nn.Conv3d: ConvRule,
    nn.BatchNorm1d: BatchNormRule,
    nn.BatchNorm2d: BatchNormRule,
    nn.BatchNorm3d: BatchNormRule,
    nn.GroupNorm: GroupNormRule,
    nn.LayerNorm: LayerNormRule,
    nn.Embedding: EmbeddingRule,
}


def rule_for(module: nn.Module) -> type[Rule] | None:
    """The rule of the module's type, or of the parent whose forward it keeps."""
    for kind in type(module).__mro__:
        if kind in RULES:
            own = [getattr(type(module), name, None) for name in FORWARDS]
            return RULES[kind] if own == [getattr(kind, name, None) for name in FORWARDS] else None
    return None


__all__ = ["RULES", "Rule", "UnfitError", "rule_for"]
