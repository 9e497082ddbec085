"""Linear layers: grad_W f = sum_d g_d x_d^T over whatever positions stand between n and K."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ntkexp.tangent.calls import Call
from ntkexp.tangent.factors import Direct, Factor, Outer
from ntkexp.tangent.memory import in_huge_pages
from ntkexp.tangent.positions import Columns
from ntkexp.tangent.rules.uses import copies


class LinearRule:
    """y_d = W x_d + b for d = 1..D."""

    def __init__(self, call: Call, wanted: frozenset[str], examples: int, outputs: int) -> None:
        copies(call, examples)
        assert isinstance(call.module, nn.Linear)
        self.inputs = call.input.reshape(examples, -1, call.module.in_features)
        positions = self.inputs.shape[1]
        size = (examples, outputs, call.module.out_features)
        self.v: Tensor | None = None
        self.bias: Tensor | None = None
        if "weight" in wanted:
            self.v = in_huge_pages(self.inputs.new_empty((*size, positions)))
        if "bias" in wanted:
            self.bias = self.inputs.new_empty(size)

    def receive(self, output: int, grad: Tensor) -> None:
        grad = grad.reshape(*self.inputs.shape[:2], -1).transpose(1, 2)  # (n, O, D)
        if self.v is not None:
            self.v[:, output] = grad
        if self.bias is not None:
            torch.sum(grad, dim=2, out=self.bias[:, output])

    def factors(self) -> dict[str, Factor]:
        found: dict[str, Factor] = {}
        if self.v is not None:
            found["weight"] = Outer(
                Columns(self.inputs.transpose(1, 2).unsqueeze(1)), self.v.unsqueeze(2)
            )
        if self.bias is not None:
            found["bias"] = Direct(self.bias)
        return found
