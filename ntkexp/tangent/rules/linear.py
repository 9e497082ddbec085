"""Linear layers: grad_W f = sum_d g_d x_d^T over whatever positions stand between n and K."""

from __future__ import annotations

from torch import Tensor, nn

from ntkexp.tangent.calls import Call
from ntkexp.tangent.factors import Direct, Factor, Outer
from ntkexp.tangent.positions import Columns
from ntkexp.tangent.rules.uses import Received, copies


class LinearRule:
    """y_d = W x_d + b for d = 1..D."""

    def __init__(self, call: Call, wanted: frozenset[str], examples: int, outputs: int) -> None:
        copies(call, examples)
        assert isinstance(call.module, nn.Linear)
        self.inputs = call.input.reshape(examples, -1, call.module.in_features)
        positions = self.inputs.shape[1]
        size = (examples, outputs, call.module.out_features)
        self.v = Received((*size, positions), self.inputs) if "weight" in wanted else None
        self.bias = Received(size, self.inputs) if "bias" in wanted else None

    def receive(self, output: int, grad: Tensor) -> None:
        grad = grad.reshape(*self.inputs.shape[:2], -1).transpose(1, 2)  # (n, O, D)
        if self.v is not None:
            self.v.take(output, grad)
        if self.bias is not None:
            self.bias.take(output, grad.sum(2))

    def factors(self) -> dict[str, Factor]:
        found: dict[str, Factor] = {}
        if self.v is not None:
            found["weight"] = Outer(
                Columns(self.inputs.transpose(1, 2).unsqueeze(1)), self.v.values.unsqueeze(2)
            )
        if self.bias is not None:
            found["bias"] = Direct(self.bias.values)
        return found
